// This file has the auditor, which compares what memory serves with what the store has.

package near

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// An auditor compares some of what memory serves with what the store has. One hit in n draws its key. From then on the
// key is watched: each look reads all such keys from the store at once, so that one draw covers later changes too.
//
// That the two differ is no fault: the change may be young. This is the fence. Memory has only what loads have read
// before they ended. So while no load of a key has ended since a look began, what memory has of it is older than what
// that look has read. If they differ, the key was changed between the two, and the source must tell. It is a violation
// if memory still serves the key to a call that begins over MaxLag after the look, when the source has confirmed a
// moment after it. Then the store is read again: what it has come back to may be served.
//
// So no clock of another machine counts, no goroutine that is late, and nothing that is in no store: that is kept
// for MaxLag. What a look cannot know it counts as unknown.
type auditor[K comparable, V any] struct {
	local  *Local[K, V]
	ask    asker[K, V]
	grace  int64 // by which the fence is later, in nanoseconds
	most   int   // keys that are watched at once
	audits audits

	drawn chan struct{} // has something when a key may be watched

	mu      sync.Mutex
	byKey   map[K]*watched[K]
	ordered []*watched[K] // the oldest first
}

// A watched is a key that was drawn. Only loads is guarded by mu, all else belongs to the auditor's goroutine, but for
// differs, which is that of mu too.
type watched[K comparable] struct {
	key   K
	since int64 // by the clock of the link
	loads int   // that have ended since
	begun int   // loads when the last look began

	differs  bool // from what memory has, as of differed
	differed int64
	before   int // loads then
}

// An asker asks for keys, and returns for each a function that reports whether a value is the one that it has got, and
// how many bytes came. An error means that this is not known.
type asker[K comparable, V any] func(ctx context.Context, keys []K) (is []func(value V) (bool, error), bytes int)

const (
	lookEvery    = time.Second
	longestWatch = 10 * time.Minute // of a key that no other replaces: a cache that nobody uses asks nothing
)

func newAuditor[K comparable, V any](ask asker[K, V], grace time.Duration, most, oneIn int) *auditor[K, V] {
	return &auditor[K, V]{
		ask: ask, grace: int64(grace), most: most, audits: audits{oneIn: oneIn},
		drawn: make(chan struct{}, 1), byKey: map[K]*watched[K]{},
	}
}

// draw is called at each get. It may draw the key.
func (c *Cache[K, V]) draw(key K) {
	if c.auditor != nil {
		c.auditor.draw(key)
	}
}

func (a *auditor[K, V]) draw(key K) {
	if rand.IntN(a.audits.oneIn) == 0 {
		a.watch(key)
	}
}

// watch begins to watch a key that is in memory. The oldest makes room if each of the others can have had a second.
func (a *auditor[K, V]) watch(key K) {
	a.local.settle()
	e, ok := a.local.cache.Entry(key)
	if !ok {
		return
	}
	a.audits.ages.Observe(e.Age)
	now := a.local.link.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey[key] != nil {
		return
	}
	if len(a.ordered) == a.most {
		oldest := a.ordered[0]
		if oldest.differs || now-oldest.since < int64(a.most)*int64(lookEvery) {
			return
		}
		a.ordered = a.ordered[1:]
		delete(a.byKey, oldest.key)
	}
	one := &watched[K]{key: key, since: now}
	a.byKey[key], a.ordered = one, append(a.ordered, one)
	select {
	case a.drawn <- struct{}{}:
	default:
	}
}

// loaded is called when the function of a load has ended, before memory has its value.
func (a *auditor[K, V]) loaded(key K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.byKey[key]; one != nil {
		one.loads++
	}
}

// run looks at what is watched until ctx ends. The next look comes soon after the MaxLag of what one has seen replaced in
// the store, else a second later; and the later, the more bytes one has brought: a megabyte takes a second.
func (a *auditor[K, V]) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-a.drawn:
		case <-ctx.Done():
		}
		for bytes, more := 0, true; more && ctx.Err() == nil; {
			pause := lookEvery
			if a.grace == 0 && a.differ() {
				pause = min(pause, max(a.local.link.maxLag*3/2, lookEvery/4))
			}
			pause += time.Duration(bytes) * time.Microsecond
			wait(ctx, pause*3/4+rand.N(pause/2), nil)
			looked := make(chan struct{})
			go func() { // which a function of the program may end
				defer close(looked)
				bytes, more = a.look(ctx)
			}()
			<-looked
		}
	}
}

// begin begins a look, and returns what it is to look at.
func (a *auditor[K, V]) begin() []*watched[K] {
	now := a.local.link.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ordered = slices.DeleteFunc(a.ordered, func(one *watched[K]) bool {
		old := !one.differs && now-one.since > int64(longestWatch)
		if old {
			delete(a.byKey, one.key)
		}
		return old
	})
	for _, one := range a.ordered {
		one.begun = one.loads
	}
	return slices.Clone(a.ordered)
}

// look looks at all that is watched, and returns how many bytes that brought, and whether there was something.
func (a *auditor[K, V]) look(ctx context.Context) (bytes int, some bool) {
	all := a.begin()
	if len(all) == 0 || ctx.Err() != nil {
		return 0, false
	}
	keys := make([]K, len(all))
	for i, one := range all {
		keys[i] = one.key
	}
	is, bytes := a.ask(ctx, keys)
	asked := a.local.link.now()
	for i, one := range all {
		a.judge(one, is[i], asked)
	}
	return bytes, true
}

// judge compares what memory serves of a key with what a look has got, which has ended at asked.
func (a *auditor[K, V]) judge(one *watched[K], is func(V) (bool, error), asked int64) {
	l, counts := a.local, &a.audits
	fence := plus(one.differed, a.grace)
	now, told := l.link.now(), l.link.vouchesFor(plus(fence, 1))
	l.settle() // what follows is a get of a call that began now
	e, ok := l.cache.Entry(one.key)
	loads := a.loads(one)
	if one.differs && (!ok || loads != one.before) {
		counts.changed.Add(1)
		a.set(one, false)
		return
	}
	if !ok {
		return
	}
	if loads != one.begun {
		counts.unknown.Add(1)
		return
	}
	same, err := is(e.Value)
	switch {
	case err != nil:
		counts.unknown.Add(1)
		a.set(one, false)
	case same && one.differs:
		counts.changed.Add(1)
		a.set(one, false)
	case same:
		counts.same.Add(1)
	case !one.differs:
		one.differed, one.before = asked, loads
		a.set(one, true)
	case told && now > plus(fence, int64(l.link.maxLag)):
		a.violated(one, e, now)
		a.set(one, false)
	}
}

// loads returns how many loads of a key have ended.
func (a *auditor[K, V]) loads(one *watched[K]) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return one.loads
}

// set says whether what memory has of a key differs.
func (a *auditor[K, V]) set(one *watched[K], differs bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.differs = differs
}

// differ reports whether what memory has of some key does.
func (a *auditor[K, V]) differ() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.ordered, func(one *watched[K]) bool { return one.differs })
}

// violated reports a value that memory served to a call which began at served, and forgets it.
func (a *auditor[K, V]) violated(one *watched[K], e cache.Entry[K, V], served int64) {
	l := a.local
	now := time.Now() // whose date may have been set since the link was made
	at := func(ns int64) time.Time { return now.Add(time.Duration(ns - served)) }
	v := &violation{l.key(one.key), cache.For(l.cache).Hash(one.key), now.Add(-e.Age), at(one.differed), now}
	l.Forget(one.key)
	a.audits.last.Store(v)
	a.audits.violations.Add(1)
	l.failures.warn(&l.failures.violated, "near: memory served what was replaced: "+
		"does the source leave out changes, or the program change values that it got?", v)
}

// A violation is a value that memory should not have served any more.
type violation struct {
	key                      string
	hash                     uint64
	loaded, differed, served time.Time
}

func (v *violation) Error() string {
	const ms = "2006-01-02T15:04:05.000Z07:00"
	return fmt.Sprintf("%.200q (hash %016x) was in memory since %s, seen replaced at %s, and served at %s",
		v.key, v.hash, v.loaded.Format(ms), v.differed.Format(ms), v.served.Format(ms))
}
