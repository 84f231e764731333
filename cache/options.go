// This file has the options of a cache, and says what is wrong with them.

package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// Options says what a cache does. The zero Options are those of a cache
// without a limit whose entries stay until they are removed.
type Options[K comparable, V any] struct {
	// Name is what statistics call the cache; "cache" if empty. A name that is
	// in use gets a number behind it.
	Name string

	// Limit is the most entries; 0 means no limit. When a new key would exceed
	// it, the cache evicts another one.
	Limit int

	// Expire is the TTL of a value stored by Set, Take, GetOrSet or Compute; 0 means
	// that it does not expire. A positive time under a millisecond is refused: it is a
	// number without its unit.
	Expire time.Duration

	// Idle expires an entry that was not read for this long, whatever its TTL; 0 means
	// never. A hit then also postpones a deadline. A positive time under a millisecond is
	// refused.
	Idle time.Duration

	// Jitter spreads every TTL evenly over ± this fraction of it, so that
	// entries stored together do not expire together: 0 <= Jitter < 1. It does
	// not apply to Idle.
	Jitter float64

	// MaxWeight is the most that all entries may weigh together. It needs Weigh, and
	// replaces Limit. A value heavier than MaxWeight is removed at once, as Evicted.
	//
	// A value nearly as heavy as MaxWeight drives most others out. So MaxWeight should be
	// much more than the weight of a single value, as it usually is with sizes in bytes.
	MaxWeight uint64

	// Weigh returns the weight of an entry. It is called once for each value that is
	// to be stored, also for a result of Compute that is dropped, outside all locks, and
	// may be called by several goroutines at once. [SizeOf] weighs in bytes. An entry of
	// weight 0 is never evicted: that would free nothing.
	Weigh func(key K, value V) uint32

	// Elastic has the cache hold less than MaxWeight, which then must be in bytes ([SizeOf]),
	// while the process is near its GOMEMLIMIT: before the garbage collector takes much of the
	// processor. It holds at least a sixteenth, and up to MaxWeight again when there is memory.
	// It looks after each cycle of the collector. Without GOMEMLIMIT, and for a cache that is
	// made in a bubble of testing/synctest, it does nothing.
	Elastic bool

	// Load loads the value of a key for [Cache.Fetch], [Cache.FetchMany] and [Cache.Refresh], as the
	// fetch of [Cache.TakeWith] does.
	Load func(ctx context.Context, key K, l *Load[V]) (V, error)

	// LoadMany is Load for several keys, as the fetch of [Cache.TakeManyWith] is. FetchMany and
	// Refresh prefer it. Fetch calls it without a Load only: then a key that it leaves out is an
	// error.
	LoadMany func(ctx context.Context, loads map[K]*Load[V]) (map[K]V, error)

	// Refresh is the fraction of its TTL after which a value is due: the first TakeCtx,
	// TakeWith or TakeMany that finds it due returns it, and fetches it anew in the background.
	// Get and the plain Take begin no such load. A load that fails leaves the value as it is;
	// the next one follows after a pause that doubles. Jitter applies. 0 means never;
	// 0 <= Refresh < 1. See docs/freshness.md.
	Refresh float64

	// RefreshAfter is Refresh with a time in place of a fraction: after it a value is due, whatever
	// its TTL, also one that never expires. With RefreshAfter of an hour and no Expire values are
	// loaded anew hourly, and stay while the loads fail. A value that expires before is due then, with
	// Grace. Jitter applies. 0 means never; negative, under a millisecond or beside Refresh is an
	// error. The time of a restored value counts from Restore.
	RefreshAfter time.Duration

	// Grace is how long past its deadline a value may stand in for a load: while that runs in
	// the background, and when it fails. Only the Takes return such a value; for other methods
	// it has expired, but it takes room and counts in Len. An entry that ends by Idle has no
	// Grace. 0 means none; a positive time under a millisecond is refused. With Refresh or Grace
	// an entry takes eight more bytes.
	Grace time.Duration

	// Patience is how long a caller waits for the load before a value in Grace stands in. 0
	// means not at all. It must be less than Timeout, if that is set. A positive time under a
	// millisecond is refused.
	Patience time.Duration

	// Pause returns how long to wait, after so many loads in a row that failed, before a value that is
	// due or in Grace is loaded anew. It is called by New alone, for each number from 1 to 30, which
	// also stands for more. Jitter applies. 0 means not at all; a negative time, or a positive one
	// under a millisecond, is refused. nil means a pause that doubles, from a hundredth of Expire,
	// but at least 100 ms, up to Expire, or a minute without that.
	Pause func(failures int) time.Duration

	// Timeout is how long a load of the Takes may take, with its wait for a permit of MaxLoads.
	// Then the context of the fetch ends, and the callers get [ErrTimeout]. So do later callers
	// while the fetch goes on, unless the key is changed. No call waits longer in all, but a plain
	// Take for its own fetch. 0 means for ever; a positive time under a millisecond is refused.
	Timeout time.Duration

	// MaxLoads is how many fetches of the Takes may run at once; 0 means no limit. Others wait
	// in order. A load in the background is skipped instead. A Take within a fetch, with the
	// context of that fetch, uses its permit. A plain Take has no context: within a fetch of a
	// cache with MaxLoads it may wait for ever.
	MaxLoads int

	// Negative returns for how long to keep an error of a load, such as "no such row": until
	// then, or until the key is changed, the Takes return that error without a fetch. 0 and less
	// mean not at all. Jitter applies. It is called once for each error of a key, unless its
	// Load sets KeepError, outside all locks, by several goroutines at once. Kept errors evict no values: there is room for an
	// eighth of Limit, or for 10,000 without a Limit.
	Negative func(err error) time.Duration

	// Policy chooses what to evict: LRU, the zero value, or Adaptive.
	Policy Policy

	// OnRemove is called once for every value that leaves the cache, with the
	// cause, by one of up to Workers goroutines of the cache: after it left,
	// outside all locks, and in order for each key. It may call the cache. Even if
	// it does nothing, a Set of a live key takes five times as long.
	//
	// A cache with OnRemove that nobody holds stays until OnRemove was called for all its
	// entries with a deadline. Then it is collected, without calls for entries that have no
	// deadline: for those, call Close.
	//
	// When 4096 events wait, callers that remove a value wait until OnRemove has caught
	// up. So does the driver: expired entries then stay in memory, but are not found.
	// Methods that OnRemove calls never wait for it. OnRemove must not wait for another
	// goroutine that removes values, as that may wait for OnRemove. A Take in OnRemove
	// does so if it joins a fetch that stores values.
	OnRemove func(Event[K, V])

	// OnRemoveSync is called as OnRemove is, but in the goroutine that removes the value and before
	// its method returns: to keep a size true, or to tell others of a change. What a load replaces or
	// evicts is told by the goroutine that runs its fetch, before the callers get the result, and what
	// expires by one of the cache, within a tick. Close makes the calls for all entries, however long
	// they take. With OnRemove beside it, either may be called first.
	//
	// It may call the cache. A panic ends there, and goes to OnPanic; a runtime.Goexit ends the
	// goroutine, after all its calls. As the calls for a key come in order, a method waits for those
	// of earlier removals, which others make: so OnRemoveSync must not wait for another
	// goroutine that removes values. Two do not wait, and leave the call to the goroutine that makes
	// the earlier one: a load, and a method that OnRemoveSync or OnRemove calls.
	OnRemoveSync func(Event[K, V])

	// Workers is how many calls of OnRemove may run at once; 0 means runtime.GOMAXPROCS.
	Workers int

	// OnPanic gets the value and the stack of a panic in OnRemove, in a function of
	// DelFunc for a load that ends later, or in a load in the background. The panic ends there,
	// and so does one of OnPanic; the other calls go on. A runtime.Goexit is reported as an
	// error that says so. If OnPanic is nil, package log/slog logs it.
	OnPanic func(recovered any, stack []byte)

	// Schema names the format in which Save encodes keys and values, such as "users v2":
	// Restore refuses a snapshot with another Schema.
	Schema string

	// HotKeys is how many of the most requested keys to find, for [Cache.HotKeys] and the
	// page of package stats: at most 1000; 0 means none. A get then takes 15 to 60
	// nanoseconds more, and some keys stay in memory after they left the cache: up to eight
	// times as many, at least 128. Keys with more than 1 KB of text are not found. The page
	// then also shows the keys with the slowest loads of the last five minutes.
	HotKeys int

	// Ages records how old values were when they were evicted, and has each [Entry] tell the age
	// of its value. It costs 4 bytes per entry,
	// and a reading of the clock per value stored or evicted: 40 to 75 nanoseconds, with which
	// a Set of a live key takes two to three times as long.
	Ages bool

	// WhatIf estimates the hit ratio with half the limit, with double the limit, and with the
	// other Policy. It needs a Limit. It watches a sample of some thousand keys, which takes
	// about 130 KB. A get or set of such a key takes about a hundred nanoseconds more, and of
	// other keys 10 to 14.
	WhatIf bool

	// The last two are for packages that build on a cache, as [Cache.TakeMissed] is.

	// Unlisted keeps the cache out of package stats: its counts are shown with those of
	// another one, by Amend.
	Unlisted bool

	// Amend, if it is not nil, may change each Snapshot of the cache before Stats or package
	// stats return it: so package near adds its own counts. It is called outside all locks,
	// by several goroutines at once, and must not ask for statistics.
	Amend func(*stats.Snapshot)
}

// workers returns how many calls of OnRemove may run at once.
func (o Options[K, V]) workers() int {
	if o.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Workers
}

// maxHotKeys bounds the option HotKeys.
const maxHotKeys = 1000

// longKey is the most bytes of text of a key that is kept as hot or slow.
const longKey = 1 << 10

// minTTL is the least TTL that options accept: 60*60, meant to be an hour, is 3.6 µs.
const minTTL = time.Millisecond

// ErrArgument is wrapped by the errors of [New], [Cache.Resize] and [Cache.ResizeWeight].
var ErrArgument = errors.New("cache: wrong argument")

// An argumentError says which argument was wrong and what to write instead.
type argumentError string

func wrongArgument(format string, args ...any) error {
	return argumentError(fmt.Sprintf("cache: "+format, args...))
}

func (e argumentError) Error() string { return string(e) }

func (argumentError) Unwrap() error { return ErrArgument }

// check returns what is wrong with the options, all of it.
func (o *Options[K, V]) check() error {
	var m mistakes
	o.checkLimits(&m)
	o.checkTTLs(&m)
	o.checkLoads(&m)
	if o.Workers < 0 {
		m.add("Workers is %d: want the most calls of OnRemove at once, or 0 for GOMAXPROCS", o.Workers)
	}
	if o.HotKeys < 0 || o.HotKeys > maxHotKeys {
		m.add("HotKeys is %d: want how many keys to find, at most %d, or 0 for none", o.HotKeys, maxHotKeys)
	}
	return errors.Join(m...)
}

// checkLimits checks how much the cache may hold, and what depends on that.
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
	if o.Elastic && o.MaxWeight == 0 {
		m.add("Elastic is set without MaxWeight: want MaxWeight in bytes, and Weigh: cache.SizeOf")
	}
	if o.MaxWeight > 0 && o.Limit > 0 {
		m.add("both Limit (%d) and MaxWeight (%d) are set: want one of them", o.Limit, o.MaxWeight)
	}
	if o.Policy > Adaptive {
		m.add("Policy is %d: want LRU (%d) or Adaptive (%d)", o.Policy, LRU, Adaptive)
	}
	if o.WhatIf && o.Limit == 0 {
		m.add("WhatIf is set without Limit: want a Limit, to estimate half and double of it")
	}
}

// checkTTLs checks how long values live, and stand in afterwards.
func (o *Options[K, V]) checkTTLs(m *mistakes) {
	m.checkTime("Expire", o.Expire)
	m.checkTime("Idle", o.Idle)
	m.checkFraction("Jitter", o.Jitter, "none")
	m.checkFraction("Refresh", o.Refresh, "never")
	m.checkTime("RefreshAfter", o.RefreshAfter)
	if o.Refresh > 0 && o.RefreshAfter > 0 {
		m.add("RefreshAfter is %v and Refresh %v: want one of them", o.RefreshAfter, o.Refresh)
	}
	m.checkTime("Grace", o.Grace)
}

// checkLoads checks how long loads may take, and how many may run.
func (o *Options[K, V]) checkLoads(m *mistakes) {
	m.checkTime("Patience", o.Patience)
	m.checkTime("Timeout", o.Timeout)
	if o.Patience > 0 && o.Grace == 0 {
		m.add("Patience is %v without Grace: want Grace too, for how long a value may stand in", o.Patience)
	}
	if o.Timeout > 0 && o.Patience >= o.Timeout {
		m.add("Patience is %v and Timeout %v: want a Patience below Timeout, at which the load fails", o.Patience, o.Timeout)
	}
	for i, d := range o.pauses() {
		if d < 0 || d > 0 && d < minTTL {
			m.add("Pause(%d) returns %v: want at least %v, or 0 for no pause", i+1, d, minTTL)
			break
		}
	}
	if o.MaxLoads < 0 {
		m.add("MaxLoads is %d: want the most loads at once, or 0 for no limit", o.MaxLoads)
	}
}

// pauses returns those of Pause, by the number of failures from 1 on.
func (o *Options[K, V]) pauses() (all []time.Duration) {
	if o.Pause != nil {
		for n := range maxTries {
			all = append(all, o.Pause(n+1))
		}
	}
	return all
}

// mistakes are what is wrong with options, an error for each.
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
