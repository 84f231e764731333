package main

import (
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// A naive cache is a map and a mutex, as one writes it in an afternoon. Each step under the
// lock is correct; operations of two steps are not. It shows that the harness finds faults.
type naive struct {
	mu      sync.Mutex
	entries map[int]wide
	ttl     time.Duration
}

func openNaive(c config) (*lincheck.Subject, func()) {
	if c.limit != roomy {
		return nil, nil
	}
	n := &naive{entries: make(map[int]wide), ttl: c.ttl}
	s := &lincheck.Subject{
		Get: n.get, Set: n.set, Del: n.del,
		GetOrSet: n.getOrSet, Compute: n.compute, Take: n.take, Clear: n.clear,
	}
	return s, func() {}
}

func (n *naive) get(key int) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.entries[key]
	return v.narrow(), ok
}

// set starts a timer that removes the key, whatever is stored there by then.
func (n *naive) set(key int, value int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries[key] = widen(value, 0)
	if n.ttl > 0 {
		time.AfterFunc(n.ttl, func() { n.del(key) })
	}
}

func (n *naive) del(key int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.entries[key]
	delete(n.entries, key)
	return ok
}

func (n *naive) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.entries)
}

func (n *naive) getOrSet(key int, value int64) (int64, bool) {
	if old, ok := n.get(key); ok {
		return old, true
	}
	n.set(key, value)
	return value, false
}

func (n *naive) compute(key int, f func(int64, bool) (int64, lincheck.Action)) (int64, bool) {
	old, ok := n.get(key)
	value, does := f(old, ok)
	switch does {
	case lincheck.Store:
		n.set(key, value)
		return value, true
	case lincheck.Delete:
		n.del(key)
		return 0, false
	}
	return old, ok
}

func (n *naive) take(key int, fetch func() (int64, error)) (int64, error) {
	if value, ok := n.get(key); ok {
		return value, nil
	}
	value, err := fetch()
	if err == nil {
		n.set(key, value)
	}
	return value, err
}
