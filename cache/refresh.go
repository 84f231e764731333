// This file loads values anew that are due for Refresh or in Grace. Such a load is a renewal.

package cache

import (
	"context"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// see is Get for the Takes: also of a value that is due or in Grace. If background is set, the
// caller can begin a renewal that goes on without it. It is written out as Get is, and all
// that is rare is left to seeNear.
func (c *shared[K, V]) see(key K, background bool) (value V, first role) {
	h, hashed := c.hasher.Word(key)
	if !hashed {
		h = c.hasher.Hash(key)
	}
	if w := c.watch.Load(); w != nil {
		c.asked(w, h, key)
	}
	s := c.shardOf(h)
	r := s.lock.RLock()
	home := s.index.Home(h) // find, inlined
	for m := home.Match(h); m != 0; m = m.Next() {
		i := home.Slot(m)
		e := &s.entries[i]
		if e.key != key {
			continue
		}
		if !c.timing.clock.far(e.deadline.load()) || c.timing.idle > 0 || int(i) < len(s.due) && !c.timing.clock.far(s.due[i].load()) {
			return s.seeNear(r, i, h, c.usual(background), nil)
		}
		value = e.value
		if s.marks != nil {
			s.marks.Mark(i)
		}
		s.lock.RUnlockHit(r)
		return value, finder
	}
	return c.seeFar(s, r, h, key, background)
}

// seeFar is the rest of see for a key that is not in its home group.
func (c *shared[K, V]) seeFar(s *shard[K, V], r biased.Reader, h uint64, key K, background bool) (value V, first role) {
	if s.split {
		s.lock.RUnlock(r)
		s, r = c.rlock(h)
	}
	i, found := s.find(h, key)
	if !found {
		s.countMiss(h)
		s.lock.RUnlockMiss(r)
		return value, seeker
	}
	return s.seeNear(r, i, h, c.usual(background), nil)
}

// usual returns the manner of a Take without wishes of its own.
func (c *shared[K, V]) usual(background bool) manner {
	return manner{background: background, patient: c.timing.patience > 0}
}

// seeAs is see for a Take with wishes of its own, which is told of the value.
func (c *shared[K, V]) seeAs(key K, m manner, a *about) (value V, first role) {
	h := c.hasher.Hash(key)
	if w := c.watch.Load(); w != nil {
		c.asked(w, h, key)
	}
	s, r := c.rlock(h)
	i, found := s.find(h, key)
	if !found {
		s.countMiss(h)
		s.lock.RUnlockMiss(r)
		return value, seeker
	}
	return s.seeNear(r, i, h, m, a)
}

// seeNear is the rest of see for entry i, which may have expired, be due, or slide. If a is not
// nil, it is told of a value that is returned.
func (s *shard[K, V]) seeNear(r biased.Reader, i uint32, h uint64, m manner, a *about) (value V, first role) {
	expired := s.foundExpired(i)
	if expired && (m.noGrace || s.foundGone(i)) || !expired && s.shared.timing.idle > 0 && !s.slide(i, h) {
		s.missesExpired.Add(1)
		s.lock.RUnlockMiss(r)
		return value, seeker
	}
	if first = s.seeDue(i, expired, m); first == undecided {
		s.lock.RUnlock(r)
		return value, first
	}
	value = s.entries[i].value
	s.use(i)
	if expired {
		s.hitsInGrace.Add(1)
	}
	if a != nil {
		*a = s.about(i)
	}
	s.lock.RUnlockHit(r)
	return value, first
}

// seeDue is see for entry i, whose value can be returned.
func (s *shard[K, V]) seeDue(i uint32, expired bool, m manner) role {
	c := s.shared
	if !expired && (!m.background || c.timing.refresh == 0 && c.timing.refreshAfter == 0) {
		return finder
	}
	due := s.due[i].load()
	passed := c.timing.duePassed(due)
	switch {
	case expired && (m.patient || !m.background) && (passed || renewing(due)):
		return undecided
	case m.background && passed && s.due[i].swap(due, underWay|wasDue|due&marksMask):
		return renewer
	}
	return finder
}

// renew begins a renewal of a value that the caller has found due. The renewal is skipped
// if it would have to wait for a permit.
func (c *shared[K, V]) renew(ctx context.Context, key K, fetch fetcher[K, V]) {
	h := c.hasher.Hash(key)
	s := c.lock(h)
	l := s.beginDue(ctx, h, key, nil)
	s.lock.Unlock()
	if l == nil {
		return
	}
	c.spawnLoad(l, fetch)
}

// standsIn reports whether entry i, which is in Grace, stands in at once: during the pause
// after a renewal that failed, or if a load is under way, l, and the caller is not patient.
func (s *shard[K, V]) standsIn(i uint32, l *load[K, V], who *caller) bool {
	if who.noGrace {
		return false
	}
	due := s.due[i].load()
	return !s.shared.timing.duePassed(due) && !renewing(due) || l != nil && !who.patient
}

// beginDue begins a renewal, unless the key was stored anew since it was found due, another
// caller has begun one, or it would have to wait for a permit. The renewal joins the batch
// of first, if that is not nil.
func (s *shard[K, V]) beginDue(ctx context.Context, h uint64, key K, first *load[K, V]) *load[K, V] {
	i, ok := s.findUsable(h, key)
	if !ok || !renewing(s.due[i].load()) {
		return nil
	}
	l := s.current(key)
	switch {
	case l == nil:
		return s.beginRenewal(ctx, h, i, first)
	case !l.renewal: // l does not load this value anew
		s.skipRenewal(i)
	}
	return nil
}

// beginRenewal begins a load in the background for entry i, whose key has hash h and no
// load that callers share. It joins the batch of first, if that is not nil. It returns nil if it would have to
// wait for a permit.
func (s *shard[K, V]) beginRenewal(ctx context.Context, h uint64, i uint32, first *load[K, V]) *load[K, V] {
	if s.closed || first == nil && !s.shared.loading.permits.try() {
		s.skipRenewal(i)
		return nil
	}
	t := s.shared.loading.timeout
	l := s.shared.newLoad(&caller{ctx: ctx, timeout: t, limit: t}, h, s.entries[i].key, first)
	if first == nil {
		l.flight.keep()
	}
	s.renewBy(l, i)
	s.addLoad(l)
	return l
}

// renewBy makes l, which is about to begin, a renewal of entry i. A private one leaves what is
// stored as it is.
func (s *shard[K, V]) renewBy(l *load[K, V], i uint32) {
	l.renewal = true
	l.Old, l.HasOld = s.entries[i].value, true
	l.value = l.Old // fetch may change Old
	if s.due != nil && !l.private {
		s.due[i].set(underWay | s.due[i].load()&marksMask)
	}
}

// skipRenewal postpones a renewal of entry i that cannot begin now.
func (s *shard[K, V]) skipRenewal(i uint32) {
	s.shared.loading.renewals.skipped.Add(1)
	s.due[i].set(s.shared.timing.pauseAfter(s.due[i].load() & marksMask))
}

// endRenewal counts a renewal that has ended, and sets when the entry of the key is due
// again if the load has left it under way, and no other one has begun: if the result was
// dropped or the load failed.
func (s *shard[K, V]) endRenewal(l *load[K, V], dropped bool) {
	failed := l.failure() != nil && !dropped
	if l.renewal && !l.private {
		s.shared.loading.renewals.count(failed, dropped)
	}
	if s.due == nil {
		return
	}
	i, ok := s.find(l.hash, l.key)
	if !ok || !renewing(s.due[i].load()) || s.current(l.key) != nil {
		return
	}
	marks := s.due[i].load() & marksMask
	switch {
	case !failed:
		s.due[i].set(dueAt(s.shared.timing.clock.now(), marks))
	case marks&triesMask < maxTries:
		s.due[i].set(s.shared.timing.pauseAfter(marks + 1))
	default:
		s.due[i].set(s.shared.timing.pauseAfter(marks))
	}
}

// A renewals counts renewals by their result.
type renewals struct {
	ok, failed, dropped, skipped atomic.Uint64
}

// count counts one that has ended.
func (r *renewals) count(failed, dropped bool) {
	switch {
	case dropped:
		r.dropped.Add(1)
	case failed:
		r.failed.Add(1)
	default:
		r.ok.Add(1)
	}
}

func (r *renewals) stats() stats.Refreshes {
	return stats.Refreshes{OK: r.ok.Load(), Failed: r.failed.Load(), Dropped: r.dropped.Load(), Skipped: r.skipped.Load()}
}

// standIn returns a value to a caller whose load has failed: one in Grace, one that another
// caller has stored meanwhile, or the one that it did not want at first.
func (c *shared[K, V]) standIn(key K, who *caller) (value V, ok bool) {
	if c.timing.grace == 0 && !who.reload {
		return value, false
	}
	h := c.hasher.Hash(key)
	s, r := c.rlock(h)
	defer s.lock.RUnlock(r)
	i, ok := s.findUsable(h, key)
	if ok = ok && !(who.noGrace && s.foundExpired(i)); ok {
		value = s.answer(i, who)
	}
	return value, ok
}

// answer returns the value of entry i, which has not expired or is in Grace, to a Take.
func (s *shard[K, V]) answer(i uint32, who *caller) V {
	s.use(i)
	if s.shared.timing.grace > 0 && s.foundExpired(i) && !who.reload {
		s.hitsInGrace.Add(1)
	}
	who.about = s.about(i)
	return s.entries[i].value
}
