// This file has the Takes of one key: Take, TakeCtx and TakeWith. From a miss to the stored
// value: here, then join.go with look.go, run.go with fetcher.go, conclude.go and store.go.

package cache

import "context"

// Take is for code without a context; services want [Cache.TakeCtx]. It returns the value of a
// key, as Get does, or calls fetch for it and stores the result. It counts as one hit or one miss.
//
// There is one fetch per key at a time, for the same version of the key: callers that come
// while it runs get its result. A fetch never undoes a later change: after a Set, Del, Clear
// or Compute of the key its result goes to the callers it has and is not stored. A caller
// that comes later begins its own fetch at once, beside the old one. So it does after a DelFunc, which
// may select the value of the old fetch.
//
// Take returns the error of fetch as it is, and keeps it only if Negative says so. A panic
// or [runtime.Goexit] of fetch ends the caller that ran it in the same way; the others get
// a [PanicError] or [ErrGoexit].
//
// fetch runs in the goroutine of the caller and holds no lock. It may use the cache, but not
// Take the same key, which would wait for itself. Close in it returns an error instead of
// waiting.
func (c *Cache[K, V]) Take(key K, fetch func() (V, error)) (V, error) {
	checkFunction(fetch == nil, "fetch of Take")
	value, seen := c.see(key, false)
	if seen == hit {
		return value, nil
	}
	return c.takeSlow(key, seen, fetch)
}

// A sight is what the first look of a Take saw.
type sight uint8

const (
	hit         sight = iota // a value
	hitDue                   // a value that is due, for which the caller is to begin a renewal
	miss                     // no value; the miss is counted
	missInGrace              // a value in Grace that may stand in; not yet counted as a hit or a miss
)

// see is Get for the Takes. background says whether the caller can begin a renewal.
func (c *Cache[K, V]) see(key K, background bool) (value V, seen sight) {
	h, hashed := c.common.hasher.Word(key)
	if !hashed {
		h = c.common.hasher.Hash(key)
	}
	if w := c.common.watch.Load(); w != nil {
		c.asked(w, h, key)
	}
	s := c.common.shardOf(h)
	r := s.lock.RLock()
	var i uint32
	home := s.index.Home(h) // find, inlined
	m := home.Match(h)
	for ; m != 0; m = m.Next() {
		if i = home.Slot(m); s.entries[i].key == key {
			break
		}
	}
	if m == 0 {
		var found bool
		if s, r, i, found = c.getFar(s, r, h, key); !found {
			return value, miss
		}
	}
	e := &s.entries[i]
	deadline := e.deadline.Get()
	if t := &c.common.time; t.clock.Far(deadline) && t.clock.Far(deadline-t.lead.Load()) && t.idle == 0 { // also the first: the difference may overflow
		seen = hit
	} else if seen = s.seeEnding(i, h, background); seen == miss || seen == missInGrace {
		if seen == missInGrace {
			s.lock.RUnlock(r)
		} else {
			s.tally.missExpired()
			s.lock.RUnlockMiss(r)
		}
		return value, seen
	}
	value = e.value
	if s.marks != nil {
		s.marks.Mark(i)
	}
	s.lock.RUnlockHit(r)
	return value, seen
}

// TakeCtx is [Cache.Take] with a context. When its context ends, a caller returns the
// cause: also the caller that began the fetch, unless its context cannot end. The fetch
// goes on in a goroutine of its own, and its value is still stored. With a context that has
// ended already, TakeCtx begins no fetch.
//
// The context of fetch has the values of the first caller's context. It ends when all callers
// have left, with the cause of the last one. It tells no deadline but that of Timeout, as callers
// with later ones may join. While one without a deadline waits, such as a plain Take, it does not
// end: a fetch that must end, such as a query of a database, needs a time-out of its own, or the
// cache a Timeout. A fetch that takes its own key with this context, or one derived from it, gets
// an error.
//
// If a fetch in a goroutine of its own panics, the first caller panics with the same value,
// without the stack of the fetch. If that caller has left, only the other callers get an
// error, and the load counts as failed.
func (c *Cache[K, V]) TakeCtx(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	checkTake(ctx, fetch == nil, "TakeCtx")
	old, seen := c.see(key, true)
	if seen == hit {
		return old, nil
	}
	return c.takeSlowCtx(ctx, key, seen, old, fetchCtx[K, V](fetch), nil)
}

// TakeWith is [Cache.TakeCtx] for a fetch that knows more than the value: its TTL, that the
// old value is still right, that the value is not to be stored, or that there is none any more. If
// fetch returns an error, only l.NotFound and l.Gone count.
func (c *Cache[K, V]) TakeWith(ctx context.Context, key K, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	checkTake(ctx, fetch == nil, "TakeWith")
	old, seen := c.see(key, true)
	if seen == hit {
		return old, nil
	}
	return c.takeSlowCtx(ctx, key, seen, old, fetchWith[K, V](fetch), nil)
}
