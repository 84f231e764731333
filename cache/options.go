// This file has the options of a cache.

package cache

import (
	"context"
	"strconv"
	"time"
)

// Options says what a cache does. The zero Options are those of a cache without a limit whose
// entries stay until they are removed. Options do not change after New, but for Limit by
// [Cache.Resize], MaxWeight by [Cache.ResizeWeight], and those of a [Tuning] by [Cache.Tune].
//
// New refuses negative times, and positive ones under a millisecond, as a unit was probably forgotten.
// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/freshness.md has pictures of Refresh, Grace,
// Patience and Timeout.
type Options[K comparable, V any] struct {
	// Name is what statistics call the cache; "cache" if empty. A name that is
	// in use gets a number behind it.
	Name string

	// Limit is the most entries; 0 means no limit. When a new key would exceed
	// it, the cache evicts another one.
	Limit int

	// Expire is the TTL of a value stored by Set, a Take, GetOrSet or Compute; 0 means that the
	// value does not expire.
	Expire time.Duration

	// ExpireBy returns the TTL of a value for which the method, or the load by l.Expire, says none. 0
	// means for ever. With a negative TTL the value is not stored, and what the key had is removed, but
	// by GetOrSet. It is called outside all locks, by several goroutines at once, also for a result that
	// is then dropped. Set Expire or ExpireBy, not both.
	ExpireBy func(key K, value V) time.Duration

	// Idle expires an entry that was not read for this long, even before its TTL ends; 0 means
	// never. So a hit postpones a deadline, but not beyond the TTL.
	Idle time.Duration

	// Jitter spreads every TTL evenly over ± this fraction of it, so that entries stored
	// together do not expire together. 0 means not at all, and 0 <= Jitter < 1. It does not
	// apply to Idle.
	Jitter float64

	// MaxWeight is the most that all entries may weigh together. It needs Weigh, and may be set beside
	// Limit; 0 means that entries have no weight. A heavier value is removed at once, as Evicted.
	// A value nearly as heavy drives most others out. So MaxWeight should be much more than the
	// weight of a single value, as it usually is with sizes in bytes.
	MaxWeight uint64

	// Weigh returns the weight of an entry. It is called once for each value to be stored, even
	// for a result of Compute that is then dropped: outside all locks, by several goroutines at
	// once. Less than 1 counts as 1. Package cache/heapsize weighs in bytes of the heap; for other
	// sizes in bytes, add 100 for what an entry takes itself.
	Weigh func(key K, value V) uint32

	// Elastic lowers MaxWeight, or without it Limit, when the process comes near its memory limit,
	// GOMEMLIMIT, and raises it again, up to what the option or a Resize says, when there is room: after
	// each collection of garbage, so that the live heap takes at most three quarters of what memory beside
	// the heap leaves of the memory limit, and less while the collector takes more than a tenth of the
	// processors. Caches that are elastic share the room, and each keeps a sixteenth of its limit.
	// Statistics show the limit as it is, by which a value is too heavy meanwhile. Without a memory
	// limit, and in a bubble of testing/synctest, it does nothing. Set Elastic or WhatIf, not both.
	Elastic bool

	// Load loads a key for Fetch: it returns the value, or an error, and may tell l more, such as the
	// TTL. Without it LoadMany does. See [Cache.TakeCtx] for its context, goroutine and panics.
	Load func(ctx context.Context, key K, l *Load[V]) (V, error)

	// LoadMany loads several keys for FetchMany and Refresh: it returns the values of those that have
	// one, and may tell loads[i], which is of keys[i], more, such as its TTL or an error of its own. A
	// key that it leaves out has no value, as if it were Gone. An error is that of all keys, and says
	// nothing about single ones, so Negative does not get it. Without LoadMany, Load does, for each key.
	LoadMany func(ctx context.Context, keys []K, loads []*Load[V]) (map[K]V, error)

	// Batch is for how long a Fetch that misses waits for others, which one call of LoadMany then loads
	// together; 0 means not at all. It needs LoadMany. Renewals in the background do not wait.
	Batch time.Duration

	// Refresh is the fraction of the TTL after which a value is renewed, before it expires; 0
	// means never, and 0 <= Refresh < 1. The first Take but the plain one after that time returns
	// the value, and loads it in the background: a renewal. Get and the plain Take begin none. Jitter changes the TTL, and so this time too. If a renewal fails, the value
	// stays, and the next one begins after a pause; see
	// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/freshness.md. With Refresh, RefreshAfter
	// or Grace an entry takes eight more bytes.
	Refresh float64

	// RefreshAfter is the time after which a value is renewed, also one without a TTL; 0 means never.
	// It must be less than Expire, if that is set. Jitter applies. Set Refresh or RefreshAfter, not both.
	RefreshAfter time.Duration

	// RetryAfter returns for how long a value is not renewed when a renewal has failed: failures is how
	// many have failed in a row, 1 for the first and at most 30. 0 and less mean not at all. If
	// RetryAfter is nil, the pause begins with a hundredth of Expire, at least 100 ms, and doubles, up
	// to Expire, or a minute without that, and up to a quarter more at random. It is called outside
	// all locks, by several goroutines at once, and must not Take the key, whose load waits for it. If
	// it panics, the pause is the usual one, as that of a renewal skipped for want of a permit is.
	RetryAfter func(failures int) time.Duration

	// Grace is how long past its deadline a value may stand in, during its renewal and after
	// loads that failed; 0 means not at all. Only the Takes and [Cache.Stale] return such a value, a
	// plain Take only after a failed load. To other methods it has expired, but it takes room and counts in Len.
	// An entry that ends by Idle has no Grace. Which call gets which value says
	// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/freshness.md.
	Grace time.Duration

	// Patience is how long a caller waits for a load before a value in Grace stands in; 0 means
	// not at all. It needs Grace, and must be less than Timeout, if that is set.
	Patience time.Duration

	// Timeout is how long a load may take, with its wait for a permit of MaxLoads; 0 means for
	// ever. After that, the context of its fetch ends, with the cause [ErrTimeout], and its callers
	// get that error. One Take waits at most Timeout in all, but a plain Take always waits for
	// its own fetch. What becomes of a fetch that goes on says
	// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/freshness.md.
	Timeout time.Duration

	// MaxLoads is how many fetches may run at once; 0 means no limit. Others wait in order, as
	// long as a caller waits for them; renewals are skipped instead. A Take within a fetch of the
	// same cache, with the context of that fetch, shares its permit if none is free. A plain Take
	// within a fetch may wait for ever, as it has no context. So may fetches of two caches that
	// take from each other, without a Timeout. See
	// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/freshness.md.
	MaxLoads int

	// Negative returns for how long to keep an error of a load, such as "no such row"; 0 and
	// less mean not at all. Until then, or until the key is changed, the Takes return the error
	// without a fetch; to other methods the key is absent. Jitter applies. Negative is called
	// once per error, outside all locks, by several goroutines at once; there is room for Limit/8
	// errors, or 10,000 without a Limit. It is never called for errors of
	// package context, [ErrTimeout], [ErrGoexit] or a [PanicError]. See
	// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/freshness.md.
	Negative func(err error) time.Duration

	// Policy chooses what to evict: LRU, the zero value, or Adaptive.
	Policy Policy

	// OnRemove is called once for every value that leaves the cache, with the cause: after it
	// left, outside all locks, in order for each key. It may call the cache. While 4096 events
	// wait, callers that remove values wait too, so OnRemove must not wait for such a caller; see
	// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/guarantees.md. A Set that replaces a
	// value takes four to nine times as long as without OnRemove, one that evicts two to three
	// times: it queues an event for another goroutine.
	OnRemove func(Event[K, V])

	// Workers is how many calls of OnRemove may run at once; 0 means runtime.GOMAXPROCS.
	Workers int

	// OnPanic gets the value and the stack of a panic in OnRemove, in a load in the background, in
	// RetryAfter, or in a function of DelFunc or ExpireFunc for a load that ends later. The panic ends there, and so does
	// one of OnPanic; other calls go on. A runtime.Goexit is reported as an error that says so.
	// If OnPanic is nil, package log/slog logs the panic.
	OnPanic func(recovered any, stack []byte)

	// Schema names the format in which Save encodes keys and values, such as "users v2":
	// Restore refuses a snapshot with another Schema.
	Schema string

	// Accept names what the page of package stats finds wrong and is as intended, such as "one hot key" or
	// "limit too small", in the page's words: it then says so as advice, calmly.
	Accept []string

	// HotKeys is how many of the most requested keys to find, for [Cache.HotKeys] and the page
	// of package stats: at most 1000; 0 means none. A get then takes 15 to 60 nanoseconds more,
	// a Set of a key that has a value 30. Some keys stay in memory after they left the cache.
	HotKeys int

	// Ages keeps how old values are, for [Entry] and [Within], and records how old they were when they
	// were evicted. It costs 4 bytes per entry, and a reading of the clock per value stored or evicted, 60 to 80 nanoseconds: a Set of
	// a key that has a value takes two to three times as long.
	Ages bool

	// WhatIf estimates the hit ratio at half the limit, at double, and by the other Policy. It
	// needs a Limit, and no MaxWeight. Its sample has one key in Limit/1024, or all keys of a smaller cache, and
	// takes about 130 KB. A get or set of a key in the sample takes about a hundred nanoseconds
	// more, a get of another key 3 to 15, and a Set of another key that has a value 30.
	WhatIf bool
}

// maxHotKeys bounds the option HotKeys.
const maxHotKeys = 1000

// A Policy is a way to choose the entry to evict.
type Policy uint8

const (
	// LRU evicts the entry that was not used for longest, as package lru does. Used entries
	// move on only when eviction reaches them.
	LRU Policy = iota

	// Adaptive evicts entries used once before those used again, as when a program scans its
	// keys, or loops over more keys than the limit. In the 28 cases of
	// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/hit-ratio.md it has more hits than LRU
	// in 20, and fewer, by less than a point, in 5. It takes six more bytes per entry. See
	// package lru.
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
