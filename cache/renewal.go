// This file has renewals, which are loads of keys with a value that is due or in Grace, and says when a
// value in Grace stands in.

package cache

import (
	"context"
	"runtime/debug"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// seeEnding is see for entry i, whose key has hash h, and which may be idle, due or expired. It
// counts a hit in Grace.
func (s *shard[K, V]) seeEnding(i uint32, h uint64, background bool) sight {
	c := s.common
	if !s.checkExpired(i) {
		return s.seeLive(i, h, background)
	}
	if s.checkGone(i) {
		return miss
	}
	due, underWay := s.lives.isDue(i, &c.time)
	if (c.time.patience.get() > 0 || !background) && (due || underWay) {
		return missInGrace
	}
	s.tally.hitGrace()
	if background && due && s.lives.claim(i, &c.time) {
		return hitDue
	}
	return hit
}

// seeLive is seeEnding for an entry that has not expired.
func (s *shard[K, V]) seeLive(i uint32, h uint64, background bool) sight {
	t := &s.common.time
	if t.idle > 0 && !s.lives.slide(i, &s.entries[i].deadline, h, t) {
		return miss
	}
	if background && t.refreshes() && s.lives.claim(i, t) {
		return hitDue
	}
	return hit
}

// standsIn reports whether the entry, which is in Grace, stands in at once: during the pause
// after a renewal that failed, or if a load is under way, l, and the caller is not patient.
func (at *look[K, V]) standsIn(l *load[K, V], who *caller) bool {
	due, underWay := at.lives.isDue(at.slot, &at.common.time)
	return !due && !underWay || l != nil && !who.patient
}

// beginDue begins a renewal, unless the key was stored again since it was found due, another
// caller has begun one, ctx has ended, or it would have to wait for a permit. The renewal
// joins the batch of first, if that is not nil.
func (at *look[K, V]) beginDue(ctx context.Context, ended bool, first *load[K, V]) *load[K, V] {
	if !at.has || !at.lives.isUnderWay(at.slot) {
		return nil
	}
	l := at.current()
	switch {
	case l != nil && l.renewal:
		l.keep()
	case ended, at.checkGone(at.slot): // its Grace may become longer again
		at.lives.dueNow(at.slot, &at.common.time)
	case l == nil:
		return at.beginRenewal(ctx, first)
	default: // l is no renewal of this value
		at.skipRenewal()
	}
	return nil
}

// beginRenewal begins a load in the background for the entry, whose key has no load to share. It
// joins the batch of first, if that is not nil. It returns nil if it would have to wait for a permit.
func (at *look[K, V]) beginRenewal(ctx context.Context, first *load[K, V]) *load[K, V] {
	var held *flight.Permit
	ok := !at.closed
	if ok && first == nil {
		held, ok = at.common.loads.rules.TryAcquire()
	}
	if !ok {
		at.skipRenewal()
		return nil
	}
	who := caller{Caller: at.common.loads.rules.Background(ctx), now: at.common.time.clock.Now()}
	l := at.newLoad(&who, first)
	if first == nil {
		l.flight.RunInBackground(held)
	}
	at.renew(l)
	at.pending.add(l)
	return l
}

// renew makes l, which is about to begin, a renewal of the entry.
func (at *look[K, V]) renew(l *load[K, V]) {
	l.replaces(at.entries[at.slot].value)
	if l.tries = -1; l.isKept() { // others renew a value while it is loaded for a caller that stores nothing
		l.tries = at.lives.renew(at.slot, &at.common.time)
	}
}

// skipRenewal postpones a renewal of the entry that cannot begin now.
func (at *look[K, V]) skipRenewal() {
	at.common.loads.renewals.skipped.Add(1)
	at.lives.pause(at.slot, 0, &at.common.time)
}

// askRetry asks the option RetryAfter how long to pause if l, a renewal, has failed. No lock may be held.
// The option runs in a goroutine of its own, as it may panic or call Goexit: then the pause is the usual one.
func (c *Cache[K, V]) askRetry(l *load[K, V]) {
	retryAfter := c.common.time.retryAfter
	if retryAfter == nil || l.tries < 0 || l.failure() == nil || l.Gone {
		return
	}
	asked := make(chan struct{})
	c.spawn(func() {
		defer close(asked)
		defer func() {
			if l.retryIn > 0 {
				return
			}
			var cause any = ErrGoexit
			if p := recover(); p != nil {
				cause = p
			}
			c.tellPanic(cause, debug.Stack())
		}()
		runner.RunAsLoad(func() { l.retryIn = max(retryAfter(min(l.tries+1, maxTries)), 1) })
	})
	<-asked
}

// endRenewal counts a renewal that has ended. If the result was dropped or the load failed, the word
// of the entry still says that a renewal is under way. Then endRenewal sets when the entry is due
// again, unless another load has begun.
func (l *load[K, V]) endRenewal(s *shard[K, V], dropped bool) {
	failed := l.failure() != nil && !l.Gone && !dropped
	if l.renewal {
		s.common.loads.renewals.count(failed, dropped)
	}
	i, ok := s.find(l.hash, l.key)
	if !ok || !s.lives.isUnderWay(i) || s.pending.current(l.hash, l.key) != nil {
		return
	}
	if failed && l.retryIn > 0 {
		s.lives.pauseFor(i, l.retryIn, &s.common.time)
	} else if failed {
		s.lives.pause(i, 1, &s.common.time)
	} else {
		s.lives.dueNow(i, &s.common.time)
	}
}

// standIn returns a value to a caller whose load has failed: one in Grace, or one that
// another caller has stored meanwhile.
func (c *Cache[K, V]) standIn(key K, who *caller) (value V, ok bool) {
	if c.common.time.grace.get() == 0 {
		return value, false
	}
	at := look[K, V]{key: key, hash: c.common.hasher.Hash(key)}
	s, r := c.common.rlock(at.hash)
	defer s.lock.RUnlock(r)
	at.shard = s
	at.slot, ok = s.findUsable(at.hash, key)
	if ok = ok && who.accepts(s.tally.bornOf(at.slot)) && !(who.refusesOld() && s.checkExpired(at.slot)); ok {
		value = at.answer(who)
	}
	return value, ok
}
