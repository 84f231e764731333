package near

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// ErrNotFound is the error that a fetch returns for a key without a value, and that Take
// returns for a key that is known to have none, unless Options.NotFound is another error. It wraps that
// of package cache, so errors.Is(err, cache.ErrNotFound) holds for both. A fetch that returns that of
// package cache, such as one that has asked another cache, has failed.
var ErrNotFound error = notFoundError{}

type notFoundError struct{}

func (notFoundError) Error() string { return "near: not found" }

func (notFoundError) Unwrap() error { return cache.ErrNotFound }

// ErrStore is wrapped by errors that mean that the store could not be asked.
var ErrStore = errors.New("near: the store cannot be asked")

// ErrReadOnly is wrapped by errors of a [Store] that refuses to write but can be read, such as a
// full Redis. Then a Take reads, fetches without a lease, and keeps what was fetched in memory
// for MaxLag.
var ErrReadOnly = errors.New("near: the store refuses writes")

// ErrRefused is wrapped by errors of a [Store] whose server has answered, and refuses what it was
// asked: nobody waits for it, so reads need not keep away from it.
var ErrRefused = errors.New("near: the store refuses this")

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

	// Cache has all other options of the cache in memory, and its loader: Load and LoadMany, with Batch,
	// load for Fetch and FetchMany what the store does not have. What they say of Expire is the TTL in the
	// store; NotFound, Gone and a key left out mean that the database has no value. Refresh and
	// RefreshAfter have the store read anew, and the database asked if that has nothing; while the store
	// cannot be asked, but the source still confirms, the value in memory stays until its TTL ends, and
	// the database is spared. Renewals count among MaxLoads, also while they wait for the store or another
	// instance. Timeout is that of a whole load: below the time-outs of the store callers get
	// cache.ErrTimeout, and not what Away and ServeOn say.
	//
	// What Options have themselves may be given in either, not in both; Expire is LocalExpire. OnRemove,
	// Workers, Negative, Grace and Patience are refused: [LocalOptions] says why, and NotFoundExpire is
	// instead of Negative. So are Schema, which is of snapshots, and ExpireBy: a loader sets l.Expire.
	Cache cache.Options[K, V]

	// Expire is the TTL of a value in the store; 0 means for ever.
	Expire time.Duration

	// LocalExpire is how long a value may stay in memory; 0 means as long as in the store. It
	// bounds for how long a value is served after a change that the source cannot tell, such
	// as a write that a failover loses.
	LocalExpire time.Duration

	// NotFoundExpire is how long a "not found" is kept, in the store and in memory: that a
	// fetch returned NotFound for a key. 0 means not at all. While the store cannot be asked, it
	// is kept for MaxLag.
	NotFoundExpire time.Duration

	// NotFoundLocal keeps a "not found" in memory only, for MaxLag at most, and does not store
	// it: who asks for many keys that do not exist does not fill the store.
	NotFoundLocal bool

	// MayExist reports whether the database may have a key, such as by its form; nil means
	// that it may. A key that cannot exist costs the store one read: no lease is taken, nothing
	// is stored, so no other instance is told of it. What fetch returns is kept for MaxLag.
	MayExist func(key K) bool

	// NotFound is the error, matched by errors.Is, by which a fetch says that a key has no
	// value, such as sql.ErrNoRows; nil means ErrNotFound.
	NotFound error

	// Jitter spreads every TTL, in memory and in the store, evenly over ± this fraction of
	// it: 0 <= Jitter < 1.
	Jitter float64

	// MaxLag bounds the age of what is served: values in memory are served while the source
	// has confirmed a moment at most this long ago, or their load began at most this long
	// ago. 0 means a second. Less than 10 ms is refused.
	MaxLag time.Duration

	// CheckClock is as in [LocalOptions]: a process that was stopped serves nothing old when it wakes, and a hit takes
	// three times as long.
	CheckClock bool

	// Away is what a Take does if the store cannot be asked: Bypass, the zero value, or Fail.
	Away Away

	// ServeOn comes before Away: if the store cannot be asked, a caller gets the value in
	// memory while the source has confirmed a moment at most this long ago. It may be stale
	// by as much. 0 means never. Less than MaxLag is refused.
	ServeOn time.Duration

	// Timeout is how long a single call of the store may take; 0 means as long as the store
	// and the context of the caller allow: a store that hangs counts as away only when its own
	// time-outs end the call. After three failures of a server in a row reads of it fail at once,
	// until one in the background succeeds.
	Timeout time.Duration

	// MaxLoads is how many loads may run at once in this process, each with its reading of the store
	// and its wait for another instance; 0 means no limit. It is that of cache.Options, and spares
	// the database while the store is away.
	MaxLoads int

	// RetryDel is for how long a Del that has failed is repeated, until the store has it; 0 means ten
	// minutes, and a negative one not at all. Then the key is given up: it may have
	// an old value in the store until its TTL ends. The statistics count that.
	RetryDel time.Duration

	// RetryKeys is the most keys of the store for which it is repeated; 0 means 10,000. More are given up at
	// once.
	RetryKeys int

	// Lease is how long an instance may load a key while others wait; if it dies, they wait
	// for that long. A load that takes longer is kept for MaxLag at most, and others begin
	// theirs. 0 means three seconds.
	Lease time.Duration

	// Prefix is the beginning of each key in the store, such as "users:". No other cache or
	// program may use keys of the store with this prefix.
	Prefix string

	// Schema names the form of the values, such as "v2"; it is a part of each key in the store:
	// "users:~v2~42". So two versions of a service, whose values are incompatible, share a Prefix,
	// and neither gets or removes what the other reads. If it ends in a number, Set and Del also
	// remove what the versions before and after it have stored for the key: they run beside this
	// one during a deploy or a rollback, and must not keep old values. The version before the
	// number 0 or 1 had no Schema. Keys of a cache without one must not begin with ~ then.
	// docs/deploys.md says more.
	Schema string

	// Keys turns keys into strings. It may be zero if K is a string or an integer.
	Keys Text[K]

	// Clone returns a copy of a value for each caller. nil means that all callers in this
	// process share what a value points to: they must not change it.
	Clone func(value V) V

	// Values turns values into bytes; zero means JSON. A value that cannot be decoded, also
	// because Decode panics, is removed from the store and loaded anew.
	Values Codec[V]

	// Audit has an auditor compare what memory serves with the store: one hit in so many, such as 1000, draws its key,
	// and from then on the key is read from the store about once a second, or four times while one differs, with up to 63
	// others at once; a megabyte of values takes a second more. 0 means none, a negative one is refused. It is a
	// violation if memory serves something else over MaxLag after such a read, though the source has confirmed a later
	// moment: the source leaves out changes, or the program changes values that it got. Then the auditor removes the key
	// from memory, counts it, and logs it; the statistics have the hash of the key. A kept "not found" is not compared, nor, while the source is partial, what the
	// store has no more. Audit sets Cache.Ages.
	//
	// Values are the same if they are deeply equal after Encode and Decode. Nothing is known of a value that does not
	// equal itself then. What Encode writes must depend on the value alone, but for random bytes that Decode drops.
	Audit int

	// AuditBy asks the database for a key that Audit has drawn; nil means that the store is read. It is called for about
	// eight keys a second at most, one after another, with a context that ends at Close. So a write of the database is found
	// that no Del has followed within five seconds. NotFound means that the database has no value; after any other error,
	// or a panic, nothing is known.
	AuditBy func(ctx context.Context, key K) (V, error)

	// Logger gets what is rare: that the source or a server of the store is lost, and back, that
	// what was replaced was served (Audit), and that a value cannot be decoded; each at most once a
	// minute. Errors may have keys in them. nil means slog.Default(), as of that moment.
	Logger *slog.Logger

	// Tracer makes spans of loads, and of what calls and loads wait for; nil makes none.
	Tracer Tracer
}

// Away says what a Take does while the store cannot be asked.
type Away uint8

const (
	Bypass Away = iota // call fetch, and keep its value, or its error unless that is of a context, for MaxLag
	Fail               // return an error that wraps ErrStore, and spare the database
)

const (
	defaultLease = 3 * time.Second
	longestExact = 10 * time.Second // by when the cache in memory compares the end of a TTL with the clock
)

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

// noLoader returns the error of a method that loads by the options, without them.
func noLoader(method string) error {
	return argumentError("near: " + method + " of a cache without Load and LoadMany: want one of them in the option Cache, or Take")
}

// isNil reports whether an interface is nil, or has a nil pointer, as of a client that was not
// made.
func isNil(x any) bool {
	v := reflect.ValueOf(x)
	return x == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

func (o *Options[K, V]) check(store Store) error {
	var wrong refusals
	if isNil(store) {
		wrong.add("the store is nil: want one, such as that of near/redis")
	}
	wrong.time("LocalExpire", o.LocalExpire, time.Millisecond, "as long as in the store")
	wrong.time("Expire", o.Expire, time.Millisecond, "never")
	wrong.time("NotFoundExpire", o.NotFoundExpire, time.Millisecond, "not at all")
	wrong.time("ServeOn", o.ServeOn, time.Millisecond, "never")
	wrong.time("Timeout", o.Timeout, time.Millisecond, "none")
	wrong.time("Lease", o.Lease, 10*time.Millisecond, "three seconds")
	if lag := cmp.Or(o.MaxLag, defaultMaxLag); o.ServeOn >= time.Millisecond && o.ServeOn < lag {
		wrong.add("ServeOn is %v, below MaxLag, %v, for which values are served anyway: want more, or 0 for never", o.ServeOn, lag)
	}
	wrong.time("RetryDel", max(o.RetryDel, 0), time.Millisecond, "ten minutes")
	if o.RetryKeys < 0 {
		wrong.add("RetryKeys is %d: want the most keys whose Del is repeated, or 0 for %d; RetryDel: -1 repeats none", o.RetryKeys, defaultRetryKeys)
	}
	o.checkCache(&wrong)
	if o.NotFoundLocal && o.NotFoundExpire == 0 {
		wrong.add("NotFoundLocal is set without NotFoundExpire: want both")
	}
	if o.Audit < 0 || o.Audit == 0 && o.AuditBy != nil {
		wrong.add("Audit is %d: want one hit in so many, such as 1000; or 0 for none, and no AuditBy", o.Audit)
	}
	if o.Away > Fail {
		wrong.add("Away is %d: want Bypass (%d) or Fail (%d)", o.Away, Bypass, Fail)
	}
	switch {
	case strings.Contains(o.Schema, schemaMark):
		wrong.add("Schema is %q: want one without %s, such as \"v2\"", o.Schema, schemaMark)
	case oddNumber(o.Schema):
		wrong.add("Schema is %q, whose number has a zero before it, or over 18 digits: want one such as \"v2\"", o.Schema)
	}
	if (o.Values.Encode == nil) != (o.Values.Decode == nil) {
		wrong.add("Values has one of its two functions: want both, or neither for JSON")
	}
	return errors.Join(wrong...)
}

// checkCache refuses what is given both in Options and in Options.Cache, or has no meaning in the latter.
func (o *Options[K, V]) checkCache(wrong *refusals) {
	for _, option := range []struct {
		name  string
		twice bool
	}{
		{"Name", o.Name != "" && o.Cache.Name != ""},
		{"Limit", o.Limit != 0 && o.Cache.Limit != 0},
		{"MaxWeight", o.MaxWeight != 0 && o.Cache.MaxWeight != 0},
		{"Weigh", o.Weigh != nil && o.Cache.Weigh != nil},
		{"Policy", o.Policy != 0 && o.Cache.Policy != 0},
		{"Jitter", o.Jitter != 0 && o.Cache.Jitter != 0},
		{"MaxLoads", o.MaxLoads != 0 && o.Cache.MaxLoads != 0},
		{"LocalExpire, which is Cache.Expire,", o.LocalExpire != 0 && o.Cache.Expire != 0},
	} {
		if option.twice {
			wrong.add("%s is given twice, in Options and in Options.Cache: want it in one of them", option.name)
		}
	}
	if o.Cache.Schema != "" {
		wrong.add("Cache.Schema is %q, which is of snapshots: want Schema of Options for keys of the store", o.Cache.Schema)
	}
	if o.Cache.ExpireBy != nil {
		wrong.add("Cache.ExpireBy is set: want l.Expire of the loader, as a value has its TTL in the store")
	}
}

// merge moves what both Options and Options.Cache have to the latter.
func (o *Options[K, V]) merge() {
	m := &o.Cache
	m.Name = cmp.Or(o.Name, m.Name)
	m.Limit, m.MaxWeight, m.Policy = cmp.Or(o.Limit, m.Limit), cmp.Or(o.MaxWeight, m.MaxWeight), cmp.Or(o.Policy, m.Policy)
	m.Jitter, m.MaxLoads = cmp.Or(o.Jitter, m.Jitter), cmp.Or(o.MaxLoads, m.MaxLoads)
	m.Expire = cmp.Or(o.LocalExpire, m.Expire)
	m.Ages = m.Ages || o.Audit > 0
	if o.Weigh != nil {
		m.Weigh = o.Weigh
	}
}

func (o *LocalOptions[K, V]) check(source Source) error {
	var wrong refusals
	if isNil(source) {
		wrong.add("the source is nil: want one, such as that of near/redis")
	}
	wrong.time("MaxLag", o.MaxLag, 10*time.Millisecond, "a second")
	if o.CheckClock && o.MaxLag > longestExact {
		wrong.add("MaxLag is %v with CheckClock: want at most %v", o.MaxLag, longestExact)
	}
	if c, ok := source.(Coverer); ok && (o.Prefix != "" || o.Keys.String == nil && reflect.TypeFor[K]().Kind() != reflect.String) && !c.Covers(o.Prefix) {
		wrong.add("Prefix, with the Schema if there is one, is %q, and the source does not tell of keys with it: want one that begins with a prefix of the source", o.Prefix)
	}
	switch {
	case (o.Keys.String == nil) != (o.Keys.Parse == nil):
		wrong.add("the text of keys has one of its two functions: want both")
	case o.Keys.String == nil && textOf[K]().String == nil:
		wrong.add("keys are of type %T and have no text: want functions that turn them into strings and back", *new(K))
	}
	if o.Cache.OnRemove != nil {
		wrong.add("OnRemove is set: want none, as changes must not wait for it")
	}
	if o.Cache.Workers != 0 {
		wrong.add("Workers is %d: want 0, as they call OnRemove, which is refused", o.Cache.Workers)
	}
	if o.Cache.Grace != 0 || o.Cache.Patience != 0 {
		wrong.add("Grace or Patience is set: want a longer Expire in memory, with RefreshAfter: until then a value is served that the source tells no change of, and after its end nothing says that the store still has it")
	}
	if o.Cache.Negative != nil {
		wrong.add("Negative is set: want KeepError, by which a load says what is to be kept")
	}
	return errors.Join(wrong...)
}
