// This file has the options of a cache.

package cache

import (
	"strconv"
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
	// may be called by several goroutines at once. An entry of weight 0 is never evicted:
	// that would free nothing.
	Weigh func(key K, value V) uint32

	// Refresh has values loaded anew before they expire: the first TakeCtx, TakeWith or
	// TakeMany that finds one older than this fraction of its TTL returns it and has it
	// fetched in the background, by the function that it was called with. Jitter applies; 0
	// means never, and 0 <= Refresh < 1. Get and the plain Take never begin such a load.
	//
	// It is a load like any other: callers share it, a change of the key wins, and a
	// load that fails leaves value and deadline alone. The next one follows after a pause,
	// which is at first a hundredth of Expire, and at least 100 ms, and doubles with each
	// failure in a row up to Expire, or a minute without that. The load does not end with
	// its caller, but with Timeout and Close.
	Refresh float64

	// Grace is how long past its deadline a value may stand in: while it is loaded anew in
	// the background, and when loads fail, with the pauses of Refresh between them. Only the
	// Takes return such a value; for all else it has expired, though it takes room and counts
	// in Len. 0 means not at all. An entry that ends by Idle has no Grace. A plain Take loads
	// in its own goroutine, so it returns such a value only if its load fails, or if one has
	// failed and the pause is not over. A positive time under a millisecond is refused.
	//
	// A cache with Refresh or Grace takes eight more bytes per entry.
	Grace time.Duration

	// Patience is how long a caller waits for the load before a value in Grace stands in; 0
	// means not at all. It must be less than Timeout, if that is set. A positive time under
	// a millisecond is refused.
	Patience time.Duration

	// Timeout is how long a load of one of the Takes may take, with its wait for a permit
	// of MaxLoads; 0 means for ever. Then the context of the fetch ends, with the cause
	// [ErrTimeout], and its callers get that error. If the fetch goes on nevertheless, later
	// callers get it too, until the fetch returns or the key is changed; its value is still
	// stored, unless the key was changed. No call of a Take waits longer for loads in all,
	// but a plain Take runs its fetch itself and always waits for it. A positive time under
	// a millisecond is refused.
	Timeout time.Duration

	// MaxLoads is how many fetches of the Takes may run at once; 0 means no limit. Others
	// wait in order, as long as a caller waits for them. A load in the background, for a
	// value that is due for Refresh or in Grace, is skipped instead. A load gives its permit
	// back when its fetch has ended, before its value is stored. A Take within a fetch of
	// the same cache, with the context of that fetch, uses its permit. A plain Take has no
	// context: within a fetch of a cache with MaxLoads it may wait for ever.
	MaxLoads int

	// Negative returns for how long to keep an error of a load, such as "no such row": until
	// then, or until the key is changed, the Takes return that error without a fetch. 0 and
	// less mean not at all. Jitter applies. For other methods the key is absent. Negative is
	// called once for each error that a fetch returns, outside all locks, by several
	// goroutines at once; not for those of package context, [ErrTimeout], [ErrGoexit] and
	// [PanicError], which are never kept.
	//
	// Errors are kept beside the entries, and evict no values. There is room for an eighth
	// of Limit, at least one, or for 10,000 without a Limit.
	Negative func(err error) time.Duration

	// Policy chooses what to evict: LRU, the zero value, or Adaptive.
	Policy Policy

	// OnRemove is called once for every value that leaves the cache, with the
	// cause, by one of up to Workers goroutines of the cache: after it left,
	// outside all locks, and in order for each key. It may call the cache.
	//
	// A cache with OnRemove that nobody holds stays until OnRemove was called for all its
	// entries with a deadline. Then it is collected, without calls for entries that have no
	// deadline: for those, call Close.
	//
	// A Set that replaces a value takes four to nine times as long as without OnRemove, one
	// that evicts two to three times: it queues an event for another goroutine.
	//
	// When 4096 events wait, callers that remove a value wait until OnRemove has caught
	// up. So does the driver: expired entries then stay in memory, but are not found.
	// Methods that OnRemove calls never wait for it. OnRemove must not wait for another
	// goroutine that removes values, as that may wait for OnRemove. A Take in OnRemove
	// does so if it joins a fetch that stores values.
	OnRemove func(Event[K, V])

	// Workers is how many calls of OnRemove may run at once; 0 means runtime.GOMAXPROCS.
	Workers int

	// OnPanic gets the value and the stack of a panic in OnRemove, in a function of DelFunc
	// for a load that ends later, or in a load in the background. The panic ends there, and so
	// does one of OnPanic; the other calls go on. A runtime.Goexit is reported as an error
	// that says so. If OnPanic is nil, package log/slog logs it.
	OnPanic func(recovered any, stack []byte)

	// Schema names the format in which Save encodes keys and values, such as "users v2":
	// Restore refuses a snapshot with another Schema.
	Schema string

	// HotKeys is how many of the most requested keys to find, for [Cache.HotKeys] and the
	// page of package stats: at most 1000; 0 means none. A get then takes 15 to 60
	// nanoseconds more, a Set of a key that has a value 30, and some keys stay in memory
	// after they left the cache.
	HotKeys int

	// Ages records how old values were when they were evicted. It costs 4 bytes per entry,
	// and a reading of the clock per value stored or evicted, 60 to 80 nanoseconds: a Set of
	// a key that has a value takes two to three times as long.
	Ages bool

	// WhatIf estimates the hit ratio at half the limit and at double, and by the other
	// Policy, with a sample of some thousand keys that takes about 130 KB. One key in
	// Limit/1024 is in the sample, or all if Limit is less. A get or set of such a key takes
	// about a hundred nanoseconds more, a get of other keys 3 to 15, and a Set of one that
	// has a value 30. It needs a Limit.
	WhatIf bool

	// Amend is for packages that build on a cache, as near does. If it is not nil, it may
	// change each Snapshot of the cache before Stats or package stats return it, to add counts
	// of its own. It is called outside all locks, by several goroutines at once, and must not
	// ask for statistics.
	Amend func(*stats.Snapshot)
}

// maxHotKeys bounds the option HotKeys.
const maxHotKeys = 1000

// A Policy is a way to choose the entry to evict.
type Policy uint8

const (
	// LRU evicts the entry that was not used for longest, as package lru does: used
	// entries are moved on when eviction reaches them.
	LRU Policy = iota

	// Adaptive keeps entries that are used again from being evicted by those used once,
	// as when a program scans the keys, or loops over more of them than the limit. In the 28
	// cases of docs/hit-ratio.md it has more hits than LRU in 20, and fewer, by less than a
	// point, in 5. It takes six more bytes per entry. See package lru.
	Adaptive
)

// String returns the name of the policy in lower case, such as "lru".
func (p Policy) String() string {
	switch p {
	case LRU:
		return "lru"
	case Adaptive:
		return "adaptive"
	}
	return "Policy(" + strconv.Itoa(int(p)) + ")"
}

// other returns the policy that WhatIf compares with p.
func (p Policy) other() Policy {
	if p == LRU {
		return Adaptive
	}
	return LRU
}
