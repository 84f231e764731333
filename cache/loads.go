// This file has what a load is, and the loads of a shard: those that callers share, and those
// that a change of their key has overtaken.

package cache

import (
	"iter"
	"time"
)

// A Load tells the function of [Cache.TakeWith] about the old value, and the cache about
// the new one. That of [Cache.TakeManyWith] gets one for each key. The function must not use
// it after it has returned.
type Load[V any] struct {
	// Old is the value that the load renews, if HasOld: one that is due for the option Refresh,
	// in Grace, or loaded anew by the method Refresh.
	Old    V
	HasOld bool

	// Expire is the TTL of the new value, of any length. It is that of the options, unless
	// the function changes it. Jitter applies. 0 means for ever. With a negative TTL the
	// value goes to the callers and is not stored, and Old is removed.
	Expire time.Duration

	// Unchanged says that Old is still right: it stays, with a new TTL, and the callers
	// get it. The value that the function returns is ignored, and OnRemove is told
	// nothing. It is an error without Old.
	Unchanged bool

	// Err is the error of this key. The function of TakeWith returns it instead.
	Err error

	// NotFound says that the error means that there is no value: Old is removed, and the
	// statistics count the load as successful. Without an error it has no effect.
	NotFound bool

	// KeepError is for how long the error is kept as the answer for the key: until the key
	// is changed, and no longer than this. Jitter applies. 0 leaves that to Negative; with a
	// negative time the error is not kept. Without an error it has no effect.
	KeepError time.Duration
}

// A load is a fetch of a key that callers share, like a call of package singleflight.
type load[K comparable, V any] struct {
	shared   *shared[K, V]
	began    int64
	key      K
	hash     uint64
	away     bool            // it began on the other side of a bubble
	unshared bool            // the shard does not know it: the result is for one caller and not stored
	validity                 // whether the key was changed since
	renewal  bool            // the key had a value: see refresh.go
	done     chan struct{}   // closed when value, Err and how are set; nil while nobody waits
	flight   *flight         // the context of the fetch, which counts the callers
	fetcher  fetcher[K, V]   // if it runs in a goroutine of its own
	filters  []*filter[K, V] // of DelFunc, asked before the value is stored
	filtered uint8           // how many filters it has got, also those asked already
	batch    []*load[K, V]   // in the first load of a batch: all loads of it
	mate     bool            // not the first of a batch: it ends with the first
	newer    *load[K, V]     // a load of the same key that began later; see loads.go
	older    *load[K, V]     // one that began earlier; it is stale
	// stale, evicted, done, filters, filtered, newer and older are guarded by the lock of the shard.

	Load[V] // the argument of the fetch of TakeWith; its Err is that of the load
	weight  uint32

	value V     // the result; before it is there, what the load renews
	about about // of the value, if it was stored
	how   outcome
}

// An outcome is how a fetch ended.
type outcome uint8

const (
	exited outcome = iota // by Goexit: it neither returned nor panicked
	returned
	panicked
)

// newLoad returns a load that a caller begins. It joins the batch of first, if that is not
// nil.
func (c *shared[K, V]) newLoad(who *caller, h uint64, key K, first *load[K, V]) *load[K, V] {
	if first != nil {
		l := new(load[K, V])
		c.initLoad(l, h, key)
		l.flight, l.mate = first.flight, true
		return l
	}
	l := c.shardOf(h).spare.Swap(nil)
	if l == nil {
		l = newSoleLoad[K, V]()
	}
	c.initLoad(l, h, key)
	l.flight.begin(who, &c.loading.permits)
	if who.canLeave() {
		l.makeDone() // the leader waits too
	}
	return l
}

func (c *shared[K, V]) initLoad(l *load[K, V], h uint64, key K) {
	l.shared, l.key, l.hash = c, key, h
	l.began, l.away = c.timing.clock.look()
	l.Expire = c.timing.expireAfter
}

// newSoleLoad returns a load with a flight of its own, in one allocation.
func newSoleLoad[K comparable, V any]() *load[K, V] {
	both := new(struct {
		load   load[K, V]
		flight flight
	})
	both.load.flight = &both.flight
	return &both.load
}

// reuse keeps the load of a plain Take, which has ended, for the next load of its shard. It
// does not if another goroutine may still use it: a caller that waited for it, or the one in
// which package context watches a flight that waited for a permit.
func (c *shared[K, V]) reuse(l *load[K, V]) {
	if l.done != nil || l.how != returned || c.loading.permits.free != nil {
		return
	}
	spare, f := &c.shardOf(l.hash).spare, l.flight
	*f = flight{}
	*l = load[K, V]{flight: f}
	spare.Store(l)
}

// mates returns the other loads of the batch whose first load is l.
func (l *load[K, V]) mates() []*load[K, V] {
	if len(l.batch) == 0 {
		return nil
	}
	return l.batch[1:]
}

// makeDone makes the channel on which callers wait for the load.
func (l *load[K, V]) makeDone() {
	if l.done == nil {
		l.done = make(chan struct{})
	}
}

// publish hands the result to the callers that wait for the load. Nobody can join it any
// more. The flight ends when all loads that share it are published.
func (l *load[K, V]) publish() {
	if l.done != nil {
		close(l.done)
	}
}

// publishAll publishes a load that is not a mate, and those of its batch.
func (l *load[K, V]) publishAll() {
	for _, mate := range l.mates() {
		mate.publish()
	}
	l.publish()
	l.flight.finish()
}

// The loads of a key that are under way are a list, from the newest to the oldest. Only the
// newest may be shared. A change of the key makes it stale; then the next caller that misses
// begins another one in front of it. The results of those behind go to their own callers and
// nowhere else.

// current returns the load of a key that callers share, or nil.
func (s *shard[K, V]) current(key K) *load[K, V] {
	if l := s.loads[key]; l != nil && !l.stale {
		return l
	}
	return nil
}

// addLoad makes a load the newest of its key.
func (s *shard[K, V]) addLoad(l *load[K, V]) {
	if l.older = s.loads[l.key]; l.older != nil {
		l.older.newer = l
	}
	s.loads = added(s.loads, l.key, l, &s.peakLoads)
}

// removeLoad removes a load that has ended.
func (s *shard[K, V]) removeLoad(l *load[K, V]) {
	switch {
	case l.newer != nil:
		l.newer.older = l.older
	case l.older != nil:
		s.loads[l.key] = l.older
	default:
		delete(s.loads, l.key)
		s.loads = shrunk(s.loads, &s.peakLoads)
	}
	if l.older != nil {
		l.older.newer = l.newer
	}
	l.newer, l.older = nil, nil
}

// allLoads returns the loads of all keys of the shard, also the stale ones.
func (s *shard[K, V]) allLoads() iter.Seq[*load[K, V]] {
	return func(yield func(*load[K, V]) bool) {
		for _, l := range s.loads {
			for ; l != nil; l = l.older {
				if !yield(l) {
					return
				}
			}
		}
	}
}
