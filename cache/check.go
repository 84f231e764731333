// This file checks options: errors that say what is wrong, and what to write instead.

package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// minTTL is the least TTL that options accept: 60*60, meant to be an hour, is 3.6 µs.
const minTTL = time.Millisecond

// ErrArgument is wrapped by the errors of [New], [Cache.Resize], [Cache.ResizeWeight] and [Cache.Tune], and by those of
// [Cache.Fetch], [Cache.FetchMany], [Cache.Refresh] and [Cache.TakeEntry] in a cache without Load and
// LoadMany, or for an age of [Within] without Ages.
var ErrArgument = errors.New("cache: wrong argument")

// An argumentError says which argument was wrong and what to write instead.
type argumentError string

func wrongArgument(format string, args ...any) error {
	return argumentError(fmt.Sprintf("cache: "+format, args...))
}

func (e argumentError) Error() string { return string(e) }

func (argumentError) Unwrap() error { return ErrArgument }

// check returns all mistakes in the options as one error, or nil.
func (o *Options[K, V]) check() error {
	var m mistakes
	o.checkLimits(&m)
	o.checkTTLs(&m)
	o.checkLoads(&m)
	for _, cause := range o.Accept {
		if !slices.Contains(sources.Causes, cause) {
			m.add("Accept has %q: want what the page says, one of %q", cause, sources.Causes)
		}
	}
	if o.Workers < 0 {
		m.add("Workers is %d: want the most calls of OnRemove at once, or 0 for GOMAXPROCS", o.Workers)
	}
	if o.HotKeys < 0 || o.HotKeys > maxHotKeys {
		m.add("HotKeys is %d: want how many keys to find, at most %d, or 0 for none", o.HotKeys, maxHotKeys)
	}
	return errors.Join(m...)
}

// checkLimits checks the limits, and the options that need one.
func (o *Options[K, V]) checkLimits(m *mistakes) {
	if o.Limit < 0 {
		m.add("Limit is %d: want the most entries, or 0 for no limit", o.Limit)
	}
	if o.Limit > math.MaxInt32 {
		m.add("Limit is %d: want at most %d", o.Limit, math.MaxInt32)
	}
	if o.MaxWeight > 0 && o.Weigh == nil {
		m.add("MaxWeight is %d without Weigh: want Weigh too, or Limit to count entries", o.MaxWeight)
	}
	if o.MaxWeight == 0 && o.Weigh != nil {
		m.add("Weigh is set without MaxWeight: want MaxWeight too, the greatest total weight")
	}
	if o.Policy > Adaptive {
		m.add("Policy is %d: want LRU (%d) or Adaptive (%d)", o.Policy, LRU, Adaptive)
	}
	if o.Elastic && o.Limit == 0 && o.MaxWeight == 0 {
		m.add("Elastic is set without a limit: want Limit or MaxWeight, the most that the cache may have")
	}
	if o.WhatIf && (o.Limit == 0 || o.MaxWeight > 0) {
		m.add("WhatIf is set without Limit, or with MaxWeight: want a Limit alone, to estimate half and double of it")
	}
	if o.Elastic && o.WhatIf {
		m.add("both Elastic and WhatIf are set: want one of them, as WhatIf estimates with a Limit that stays")
	}
}

// checkTTLs checks how long values live, and stand in afterwards.
func (o *Options[K, V]) checkTTLs(m *mistakes) {
	m.checkTime("Expire", o.Expire)
	if o.ExpireBy != nil && o.Expire > 0 {
		m.add("both Expire (%v) and ExpireBy are set: want one of them", o.Expire)
	}
	m.checkTime("Idle", o.Idle)
	m.checkFraction("Jitter", o.Jitter, "none")
	m.checkFraction("Refresh", o.Refresh, "never")
	m.checkTime("RefreshAfter", o.RefreshAfter)
	if o.Refresh > 0 && o.RefreshAfter > 0 {
		m.add("both Refresh (%v) and RefreshAfter (%v) are set: want one of them", o.Refresh, o.RefreshAfter)
	}
	if o.Expire > 0 && o.RefreshAfter >= o.Expire {
		m.add("RefreshAfter is %v and Expire %v: want less than Expire, after which the value is not there", o.RefreshAfter, o.Expire)
	}
	m.checkTime("Grace", o.Grace)
}

// checkLoads checks how long loads may take, and how many may run.
func (o *Options[K, V]) checkLoads(m *mistakes) {
	m.checkTime("Patience", o.Patience)
	m.checkTime("Timeout", o.Timeout)
	m.checkTime("Batch", o.Batch)
	if o.Batch > 0 && o.LoadMany == nil {
		m.add("Batch is %v without LoadMany: want LoadMany too, which loads several keys", o.Batch)
	}
	if o.Patience > 0 && o.Grace == 0 {
		m.add("Patience is %v without Grace: want Grace too, for how long a value may stand in", o.Patience)
	}
	if o.Timeout > 0 && o.Patience >= o.Timeout {
		m.add("Patience is %v and Timeout %v: want a Patience below Timeout, at which the load fails", o.Patience, o.Timeout)
	}
	if o.MaxLoads < 0 {
		m.add("MaxLoads is %d: want the most loads at once, or 0 for no limit", o.MaxLoads)
	}
}

// mistakes has an error for each wrong option.
type mistakes []error

func (m *mistakes) add(format string, args ...any) {
	*m = append(*m, wrongArgument(format, args...))
}

func (m *mistakes) checkTime(field string, d time.Duration) {
	if d < 0 {
		m.add("%s is %v: want a positive time, or 0 for never", field, d)
	}
	if d > 0 && d < minTTL {
		m.add("%s is %v: want at least %v; was a unit forgotten, as in %d*time.Second?", field, d, minTTL, d)
	}
}

// checkFraction checks a fraction of the TTL. zero is what 0 means.
func (m *mistakes) checkFraction(field string, f float64, zero string) {
	if !(f >= 0 && f < 1) { // NaN is refused, too
		m.add("%s is %v: want a fraction of the TTL, below 1, or 0 for %s", field, f, zero)
	}
}

// checkTake panics if the context or the fetch of a Take is nil.
func checkTake(ctx context.Context, noFetch bool, method string) {
	if noFetch { // the text is made only then
		checkFunction(noFetch, "fetch of "+method)
	}
	checkContext(ctx, method)
}

// checkFunction panics if a function that the program must give is nil.
func checkFunction(isNil bool, what string) {
	if isNil {
		panic("cache: " + what + " is nil: want a function")
	}
}

// checkContext panics if the context of a method is nil.
func checkContext(ctx context.Context, method string) {
	if ctx == nil {
		nilContext(method)
	}
}

func nilContext(method string) {
	panic("cache: the context of " + method + " is nil: want context.Background(), if there is no other")
}
