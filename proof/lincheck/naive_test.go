package lincheck

import (
	"slices"
	"sync"
	"time"
)

// A naive cache is a map and a mutex. It is correct unless a test breaks it.
type naive struct {
	mu      sync.Mutex
	entries map[int]naiveEntry
	loads   map[int]*naiveLoad
	limit   int
	expire  time.Duration
	beside  bool // a load begins beside one that is broken, and does not wait for it
}

type naiveEntry struct {
	value    int64
	deadline time.Time // zero: never
}

func (e naiveEntry) live() bool { return e.deadline.IsZero() || time.Now().Before(e.deadline) }

type naiveLoad struct {
	broken bool               // the result must not be stored
	del    []func(int64) bool // nor a value that one of these picks
	done   chan struct{}
	value  int64
	err    error
}

func newNaive(limit int, expire time.Duration) *naive {
	return &naive{entries: make(map[int]naiveEntry), loads: make(map[int]*naiveLoad), limit: limit, expire: expire}
}

func (n *naive) subject() *Subject {
	return &Subject{
		Get: n.get, Peek: n.get, Set: n.set, SetWithExpire: n.setWithExpire, Del: n.del, Touch: n.touch,
		GetOrSet: n.getOrSet, Take: n.take, Compute: n.compute, Clear: n.clear, DelFunc: n.delFunc,
	}
}

// find, store and remove must be called with the mutex held.

func (n *naive) find(key int) (int64, bool) {
	e, ok := n.entries[key]
	if !ok || !e.live() {
		return 0, false
	}
	return e.value, true
}

func (n *naive) store(key int, value int64, ttl time.Duration) {
	n.remove(key)
	for victim := range n.entries {
		if n.limit == 0 || len(n.entries) < n.limit {
			break
		}
		delete(n.entries, victim)
	}
	n.entries[key] = naiveEntry{value, deadlineAfter(ttl)}
}

func deadlineAfter(ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	return time.Now().Add(ttl)
}

func (n *naive) remove(key int) {
	if l := n.loads[key]; l != nil {
		l.broken = true
		if n.beside {
			delete(n.loads, key)
		}
	}
	delete(n.entries, key)
}

func (n *naive) get(key int) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.find(key)
}

func (n *naive) set(key int, value int64) { n.setWithExpire(key, value, n.expire) }

func (n *naive) setWithExpire(key int, value int64, ttl time.Duration) {
	if ttl < 0 {
		n.del(key)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.store(key, value, ttl)
}

func (n *naive) del(key int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.find(key)
	n.remove(key)
	return ok
}

func (n *naive) touch(key int, ttl time.Duration) bool {
	if ttl < 0 {
		return n.del(key)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	value, ok := n.find(key)
	if ok {
		n.entries[key] = naiveEntry{value, deadlineAfter(ttl)}
	}
	return ok
}

func (n *naive) getOrSet(key int, value int64) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old, ok := n.find(key); ok {
		return old, true
	}
	n.store(key, value, n.expire)
	return value, false
}

func (n *naive) compute(key int, f func(int64, bool) (int64, Action)) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old, ok := n.find(key)
	value, does := f(old, ok)
	if now, still := n.find(key); still != ok {
		value, does = f(now, still) // it expired meanwhile
		old, ok = now, still
	}
	switch does {
	case Store:
		n.store(key, value, n.expire)
		return value, true
	case Delete:
		n.remove(key)
		return 0, false
	}
	return old, ok
}

func (n *naive) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.loads {
		n.remove(key)
	}
	clear(n.entries)
}

func (n *naive) delFunc(del func(int64) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.loads {
		l.del = append(l.del, del)
	}
	n.sweep(del)
}

// sweep leaves the dead alone: to remove one would break the load that follows it.
func (n *naive) sweep(del func(int64) bool) {
	for key, e := range n.entries {
		if e.live() && del(e.value) {
			n.remove(key)
		}
	}
}

func (n *naive) take(key int, fetch func() (int64, error)) (int64, error) {
	for {
		n.mu.Lock()
		if value, ok := n.find(key); ok {
			n.mu.Unlock()
			return value, nil
		}
		l := n.loads[key]
		if l != nil && l.del != nil { // doubted
			l.broken, l = true, nil
		}
		if l == nil {
			l = &naiveLoad{done: make(chan struct{})}
			n.loads[key] = l
			n.mu.Unlock()
			return n.load(key, l, fetch)
		}
		join := !l.broken
		n.mu.Unlock()
		<-l.done
		if join {
			return l.value, l.err
		}
	}
}

// refreshing returns a subject whose Take reloads every value that it finds, in the
// background.
func (n *naive) refreshing() *Subject {
	s := n.subject()
	var running sync.WaitGroup
	s.Detached, s.Settle = true, running.Wait
	s.Take = func(key int, fetch func() (int64, error)) (int64, error) {
		n.mu.Lock()
		value, ok := n.find(key)
		if ok && n.loads[key] == nil {
			l := &naiveLoad{done: make(chan struct{})}
			n.loads[key] = l
			running.Go(func() { _, _ = n.load(key, l, fetch) })
		}
		n.mu.Unlock()
		if ok {
			return value, nil
		}
		return n.take(key, fetch)
	}
	return s
}

// load is the part of take that fetches.
func (n *naive) load(key int, l *naiveLoad, fetch func() (int64, error)) (int64, error) {
	l.value, l.err = fetch()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.loads[key] == l {
		delete(n.loads, key)
	}
	picked := slices.ContainsFunc(l.del, func(del func(int64) bool) bool { return del(l.value) })
	if !l.broken && !picked && l.err == nil {
		n.store(key, l.value, n.expire)
	}
	close(l.done)
	return l.value, l.err
}
