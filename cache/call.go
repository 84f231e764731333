// This file has TakeEntry, the Take whose caller chooses how.

package cache

import (
	"context"
	"time"
)

// A Call says how a [Cache.TakeEntry] is to differ from the options. The zero Call differs in
// nothing. The times may have any length.
type Call struct {
	// Patience replaces that of the options, unless it is 0. With a negative one a value in Grace
	// is returned at once.
	Patience time.Duration

	// Timeout is how long the caller waits in all, unless it is 0. Then a value in Grace stands in,
	// or the error is [ErrTimeout]; the load goes on if others wait for it. A load that this call
	// begins may take as long as Timeout, if that is more than the Timeout of the options. With a
	// negative Timeout it may take any time.
	Timeout time.Duration

	// NoGrace refuses values in Grace: the call waits for a load, and returns its error.
	NoGrace bool

	// Reload has the value loaded though the cache has one, which stands in if the load fails,
	// also without Grace, unless NoGrace refuses it. Kept errors and the pause after a load that has
	// failed do not count. If the key is being loaded already, the call waits for that load. A
	// Reload is neither a hit nor a miss.
	Reload bool

	// NoStore keeps the result of a load that this call begins from being stored, also an error,
	// unless a caller without NoStore joins it. What is stored stays as it is.
	//
	// With Reload or NoStore the caller waits for its load whatever Patience says, and nothing
	// begins in the background.
	NoStore bool
}

// TakeEntry is [Cache.TakeWith] for a caller who says how, and who learns how fresh the value is.
// If fetch is nil, it takes by the loader of the options, as [Cache.Fetch] does, and panics if there
// is none. A value that a load has returned is new; its TTL is 0 if it was not stored.
func (c *Cache[K, V]) TakeEntry(ctx context.Context, key K, how Call, fetch func(ctx context.Context, l *Load[V]) (V, error)) (Entry[K, V], error) {
	by := c.fetch
	if fetch != nil {
		by = fetchWith[K, V](fetch)
	}
	if by == nil {
		panic("cache: TakeEntry without a fetch, of a cache without a loader: want one of them")
	}
	checkContext(ctx, "TakeEntry")
	m := how.manner(c.shared.timing.patience)
	first := seeker
	if !how.Reload {
		var value V
		var a about
		if value, first = c.shared.seeAs(key, m, &a); first == finder || first == renewer {
			if first == renewer {
				c.shared.renew(ctx, key, by)
			}
			return c.shared.entryOf(key, value, a), nil
		}
	}
	who := c.shared.callerOf(ctx)
	who.manner = m
	how.instruct(&who)
	value, err := c.shared.takeBy(&who, key, first, by)
	return c.shared.entryOf(key, value, who.about), err
}

// manner returns how the call deals with what it finds. patience is that of the options.
func (how *Call) manner(patience time.Duration) manner {
	if how.Patience != 0 {
		patience = how.Patience
	}
	background := !how.Reload && !how.NoStore
	return manner{background: background, patient: patience > 0 || !background, noGrace: how.NoGrace}
}

// instruct tells a caller of the Take, which has the options' times, how the call deals with loads.
func (how *Call) instruct(who *caller) {
	who.reload, who.private = how.Reload, how.NoStore
	if how.Patience != 0 {
		who.patience = how.Patience
	}
	switch {
	case how.Timeout > 0:
		who.limit = how.Timeout
		if who.timeout > 0 {
			who.timeout = max(who.timeout, how.Timeout)
		}
	case how.Timeout < 0:
		who.limit, who.timeout = 0, 0
	}
}
