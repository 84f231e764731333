// This file has TakeEntry, which takes a key on terms of its own and says how fresh the value is.

package cache

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// Terms are what one call of [Cache.TakeEntry] asks for instead of what the options say. The zero Terms
// ask for nothing.
type Terms struct {
	// NoOld refuses a value in Grace: the caller waits for the load, and gets its error if it fails.
	NoOld bool

	// NoStore keeps what the load brings from being stored, also an error: an old value stays. But a
	// call without NoStore may join the load, and then it is stored. NoStore begins no renewals in the
	// background, and waits however long Patience is.
	NoStore bool

	// Patience is that of the options if 0. If it is negative, a value in Grace stands in at once.
	Patience time.Duration

	bounded bool // by Within
	age     time.Duration
}

// Within returns Terms for a value that was stored at most age before the call, or loaded: then the load
// began at most age before. 0 and less mean that the value is loaded anew, by a load that began after the
// call. A positive age needs the option Ages. No older value stands in, and no older error that Negative
// keeps counts. A value that Restore has stored is older than any age.
func Within(age time.Duration) Terms { return Terms{bounded: true, age: max(age, 0)} }

// TakeEntry is [Cache.TakeWith] on terms of this call, and returns how fresh the value is. If fetch is nil,
// it loads as [Cache.Fetch] does. The TTL of a value that was loaded and not stored is 0, and its Age is
// known also without the option Ages. With an age that needs Ages, in a cache without, or with neither
// fetch nor a loader the error wraps [ErrArgument].
func (c *Cache[K, V]) TakeEntry(ctx context.Context, key K, terms Terms, fetch func(ctx context.Context, l *Load[V]) (V, error)) (Entry[K, V], error) {
	checkContext(ctx, "TakeEntry")
	none := Entry[K, V]{Key: key}
	if fetch == nil && c.loaders == nil {
		return none, noLoader("TakeEntry")
	}
	who, err := c.callerOn(terms)
	if err != nil {
		return none, err
	}
	f, seen := c.seeOn(key, terms, &who)
	if seen == hit {
		return c.common.entryOf(f, true), nil
	}
	by, gather := fetcher[K, V](fetchWith[K, V](fetch)), (*gatherer[K, V])(nil)
	if fetch == nil {
		by, gather = c.loaders.one, c.loaders.gatherer
	}
	if seen == hitDue {
		c.renew(ctx, key, by)
		return c.common.entryOf(f, true), nil
	}
	on := asking{Terms: terms}
	who.Caller, who.on = c.common.loads.rules.CallerOf(ctx), &on
	who.background, who.patient = !terms.NoStore, terms.NoStore || who.patienceOr(c.common.time.patience.get()) > 0
	f.key = key
	if f.value, err = c.takeAs(key, seen, &who, by, gather); err != nil {
		return none, err
	}
	f.freshness = on.told
	return c.common.entryOf(f, true), nil
}

// An asking is what a caller asks for by its Terms, and how fresh the value is that it gets.
type asking struct {
	Terms
	told     freshness
	answered bool // by a load that was not stored, with an error that would have replaced any value
}

// callerOn returns a caller that knows how old a value may be by terms.
func (c *Cache[K, V]) callerOn(terms Terms) (who caller, err error) {
	if !terms.bounded {
		return who, nil
	}
	if terms.age > 0 && !c.common.ages {
		return who, wrongArgument("TakeEntry within %v of a cache without Ages: want this option, or Within(0)", terms.age)
	}
	who.now = c.common.time.clock.MustNow()
	who.since, who.anew = max(who.now-int64(terms.age), knownAge), terms.age == 0
	return who, nil
}

// seeOn is see for TakeEntry. A value that the terms refuse is missing; one in Grace is not counted yet.
func (c *Cache[K, V]) seeOn(key K, terms Terms, who *caller) (f liveEntry[K, V], seen sight) {
	h := c.common.hasher.Hash(key)
	if w := c.common.watch.Load(); w != nil {
		c.asked(w, h, key)
	}
	s, r := c.common.rlock(h)
	i, found := s.find(h, key)
	if !found {
		s.tally.miss(h)
		s.lock.RUnlockMiss(r)
		return f, miss
	}
	expired := s.checkExpired(i)
	switch {
	case expired && (terms.NoOld || s.checkGone(i)), !who.accepts(s.tally.bornOf(i)):
		seen = miss
	case expired:
		seen = missInGrace
	default:
		seen = s.seeLive(i, h, !terms.NoStore)
	}
	switch seen {
	case miss:
		if expired {
			s.tally.missExpired()
		}
		s.lock.RUnlockMiss(r)
	case missInGrace:
		s.lock.RUnlock(r)
	default:
		f = s.liveEntry(i)
		f.deadline = clock.TimeOf(f.deadline)
		s.use(i)
		s.lock.RUnlockHit(r)
	}
	return f, seen
}
