package near

import (
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// ErrNotFound is the error that a fetch returns for a key without a value, and that Take
// returns for a key that is known to have none, unless Options.NotFound is another error.
var ErrNotFound = errors.New("near: not found")

// ErrStore is wrapped by errors that mean that the store could not be asked.
var ErrStore = errors.New("near: the store cannot be asked")

// Options says what a [Cache] does. The zero Options are those of a cache without a limit,
// whose keys are strings or integers, whose values are JSON in the store, and whose entries
// stay until they change.
type Options[K comparable, V any] struct {
	// Name is what statistics call the cache; "cache" if empty.
	Name string

	// Limit is the most entries in memory, or MaxWeight the most that they may weigh by
	// Weigh; 0 means no limit. Policy chooses what to evict. All are as in cache.Options.
	Limit     int
	MaxWeight uint64
	Weigh     func(key K, value V) uint32
	Policy    cache.Policy

	// Expire is the TTL of a value in the store; 0 means for ever.
	Expire time.Duration

	// LocalExpire is how long a value may stay in memory; 0 means as long as in the store. It
	// bounds for how long a value is served after a change that the source cannot tell, such
	// as a write that a failover loses.
	LocalExpire time.Duration

	// NotFoundExpire is how long a "not found" is kept, in the store and in memory: that a
	// fetch returned NotFound for a key. 0 means not at all.
	NotFoundExpire time.Duration

	// Negative returns for how long an error of a single fetch, such as "no such row", is kept in
	// the memory of this instance, and returned without a fetch: until then, or until the store
	// has a value. A Set or Del by this instance ends it too. 0 and less mean not at all. It
	// is called by several goroutines. Errors of package context are not kept, and those of
	// TakeMany say nothing about single keys. NotFoundExpire is the better choice for a "not
	// found", which all instances then share.
	Negative func(err error) time.Duration

	// Refresh is the part of its TTL in the store after which a value is due: the next Take that
	// asks the store returns it, and fetches it anew in the background. Memory has a value until it
	// is due, so that comes soon. One caller of the fleet does that, by a lease; it has as
	// long as Lease, and so long is the pause after a fetch that fails. Get begins none. 0
	// means never; 0 <= Refresh < 1.
	Refresh float64

	// Grace is how long the store keeps a value past its TTL, to stand in for a fetch: while that
	// runs in the background, by one caller of the fleet, and when it fails. Only the Takes
	// return such a value; for Get there is none. A change of the key ends it at once. So an instance
	// that starts while the database is down has it too. 0 means none.
	//
	// Refresh and Grace take a store whose leases know them, as those of near/redis do; in
	// another one values end with their TTL. All instances must know of them before one sets
	// them: earlier versions cannot decode such values.
	Grace time.Duration

	// Patience is how long a caller waits for the fetch before a value in its Grace stands in. 0
	// means not at all.
	Patience time.Duration

	// MaxLoads is how many fetches of this instance may run at once; 0 means no limit. Others
	// wait, for as long as Lease at most: then callers get ErrBusy. They give their leases back
	// meanwhile, but for those of TakeMany. A fetch in the background is skipped instead. A
	// Take within a fetch, with the context of that, needs no place of its own.
	MaxLoads int

	// MayExist says whether a key may have a value: by its form, by a range, or by a filter of
	// all that there are. For a key that may not, nothing is written to the store, not even a
	// lease, so no other instance hears of a request for it. It is read and fetched all the
	// same. A "not found" is then kept in the memory of this instance only, for
	// NotFoundExpire: a Set of the key ends it, but a Del does not, as the store has nothing
	// to remove. A value is kept for less than MaxLag. So a wrong false costs fetches, and
	// a wrong true a lease. MayExist must be quick, and is called by several goroutines; nil
	// means that all may.
	MayExist func(key K) bool

	// Groups returns the groups to which a value belongs, such as "tenant:7", for
	// [Cache.DelGroup]. nil means that there are none. The store must be a [Grouper], as
	// near/redis is. A group is for many values: it takes a key of the store of its own, and a
	// fetch of a member one more read of the store. A member takes some 100 bytes more in memory for
	// each group, and the names of its groups in the store. Groups must be quick, must not change
	// the value, and is called by several goroutines. All instances must have a version that knows
	// of groups before one sets this option, and then all that store values must set it.
	Groups func(key K, value V) []string

	// NotFound is the error, matched by errors.Is, by which a fetch says that a key has no
	// value, such as sql.ErrNoRows; nil means ErrNotFound.
	NotFound error

	// Jitter spreads every TTL, in memory and in the store, evenly over ± this fraction of
	// it: 0 <= Jitter < 1.
	Jitter float64

	// MaxLag bounds the age of what is served: values in memory are served while the source
	// has vouched for a moment at most this long ago. 0 means a second. Less than 10 ms is
	// refused.
	MaxLag time.Duration

	// Strict is for what must not be served once a Revoke has returned, such as permissions: a
	// process that was stopped, or is cut off from the store, then serves nothing of before either. Each
	// hit reads the clock for that, which takes about 30 ns. And what is loaded while the source
	// vouches for nothing is then shared only by callers who came before it began: in an outage the
	// database gets more queries, one at a time for each key and instance. It cannot be combined
	// with ServeOn.
	Strict bool

	// Away is what a Take does if the store cannot be asked: Bypass, the zero value, or Fail.
	Away Away

	// ServeOn comes before Away: if the store cannot be asked, a caller gets the value in
	// memory while the source has vouched for a moment at most this long ago. It may be stale
	// by as much. 0 means never.
	ServeOn time.Duration

	// Timeout is how long a single call of the store may take; 0 means as long as the store
	// and the context of the caller allow. Without a Timeout a store that hangs never counts
	// as away.
	Timeout time.Duration

	// Lease is how long an instance may load a key while others wait; if it dies, they wait
	// for that long. A load that takes longer is not kept, and others begin another one. 0
	// means three seconds.
	Lease time.Duration

	// Prefix is the beginning of each key in the store, such as "users:". No other cache or
	// program may use keys of the store with this prefix.
	Prefix string

	// Keys turns keys into strings. It may be zero if K is a string or an integer.
	Keys Text[K]

	// Values turns values into bytes; zero means JSON. A value that cannot be decoded, also
	// because Decode panics, is removed from the store and loaded anew.
	Values Codec[V]

	// Clone returns a copy of a value, which a caller may change. All callers get the value
	// that is in memory: without Clone, nobody may change what pointers, slices and maps in
	// it lead to. With Clone each caller gets a copy of its own.
	Clone func(value V) V
}

// Away says what a Take does while the store cannot be asked.
type Away uint8

const (
	Bypass Away = iota // call fetch, and keep nothing: the database gets all loads
	Fail               // return an error that wraps ErrStore, and spare the database
)

const defaultLease = 3 * time.Second

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// An argumentError says which argument was wrong and what to write instead.
type argumentError string

func (e argumentError) Error() string { return string(e) }

func (argumentError) Unwrap() error { return cache.ErrArgument }

// refusals collects what is wrong with options.
type refusals []error

func (r *refusals) add(format string, args ...any) {
	*r = append(*r, argumentError("near: "+fmt.Sprintf(format, args...)))
}

// time refuses a time that is negative, or so short that it lacks its unit.
func (r *refusals) time(field string, d, least time.Duration, zero string) {
	switch {
	case d < 0:
		r.add("%s is %v: want a positive time, or 0 for %s", field, d, zero)
	case d > 0 && d < least:
		r.add("%s is %v: want at least %v; was a unit forgotten, as in %d*time.Second?", field, d, least, d)
	}
}

func (o *Options[K, V]) check(store Store, source Source) error {
	var wrong refusals
	if store == nil {
		wrong.add("the store is nil: want one, such as that of near/redis")
	}
	wrong.time("Expire", o.Expire, time.Millisecond, "never")
	wrong.time("NotFoundExpire", o.NotFoundExpire, time.Millisecond, "not at all")
	wrong.time("ServeOn", o.ServeOn, time.Millisecond, "never")
	wrong.time("Timeout", o.Timeout, time.Millisecond, "none")
	wrong.time("Grace", o.Grace, time.Millisecond, "none")
	wrong.time("Patience", o.Patience, time.Millisecond, "none")
	if o.Patience > 0 && o.Grace == 0 {
		wrong.add("Patience is %v without Grace: want Grace too, for how long a value may stand in", o.Patience)
	}
	if !(o.Refresh >= 0 && o.Refresh < 1) {
		wrong.add("Refresh is %v: want a part of the TTL, at least 0 and less than 1, or 0 for never", o.Refresh)
	}
	if o.Strict && o.ServeOn > 0 {
		wrong.add("ServeOn is %v with Strict: want one of them, as ServeOn serves what may have been revoked", o.ServeOn)
	}
	if o.MaxLoads < 0 {
		wrong.add("MaxLoads is %d: want the most fetches at once, or 0 for no limit", o.MaxLoads)
	}
	wrong.time("Lease", o.Lease, 10*time.Millisecond, "three seconds")
	if o.Away > Fail {
		wrong.add("Away is %d: want Bypass (%d) or Fail (%d)", o.Away, Bypass, Fail)
	}
	if _, ok := store.(Grouper); o.Groups != nil && !ok && store != nil {
		wrong.add("Groups is set, and the store keeps none: want a Grouper, such as that of near/redis")
	}
	if s, ok := source.(Coverer); o.Groups != nil && ok && !s.Covers(o.Prefix+groupMark) {
		wrong.add("Groups is set, and the source does not tell of keys that begin with %q, such as those of groups: want one that watches all keys with the Prefix", o.Prefix)
	}
	if (o.Values.Encode == nil) != (o.Values.Decode == nil) {
		wrong.add("Values has one of its two functions: want both, or neither for JSON")
	}
	return errors.Join(wrong...)
}

func (o *LocalOptions[K, V]) check(source Source) error {
	var wrong refusals
	if source == nil {
		wrong.add("the source is nil: want one, such as that of near/redis")
	}
	wrong.time("MaxLag", o.MaxLag, 10*time.Millisecond, "a second")
	switch {
	case (o.Text.String == nil) != (o.Text.Parse == nil):
		wrong.add("the text of keys has one of its two functions: want both")
	case o.Text.String == nil && textOf[K]().String == nil:
		wrong.add("keys are of type %T and have no text: want functions that turn them into strings and back", *new(K))
	}
	if c, ok := source.(PrefixCoverer); ok && !c.CoversPrefix(o.Prefix) {
		wrong.add("Prefix is %q, and the source tells of no key that begins so: want a Prefix that the source watches, or a source that watches it", o.Prefix)
	}
	if o.Cache.OnRemove != nil || o.Cache.OnRemoveSync != nil {
		wrong.add("OnRemove or OnRemoveSync is set: want none, as changes must not wait for it")
	}
	return errors.Join(wrong...)
}
