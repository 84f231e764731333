// Package sources is how caches and timing wheels make themselves known to package stats.
package sources

import (
	"context"
	"io"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
)

// Register makes a cache or a timing wheel known to package stats, which sets Register, until
// unregister is called or the Snapshot of the source reports false. It panics if Snapshot is nil.
// It is safe for concurrent use.
//
// Once the handler of package stats was asked for stats.json, Register takes a first snapshot
// before it returns.
//
// The registry holds the functions of the source, and so everything they refer to. To let a
// cache be collected that nobody else holds, capture a [weak.Pointer] to it, never the
// cache itself, and report false once the pointer is nil. The registry then removes the
// source at its next look; a [runtime.AddCleanup] that calls unregister frees the name
// earlier.
//
// The name is made unique by a suffix, "users", "users-2", "users-3" and so on, and
// returned, as an exposition must not have two series with the same labels. It is free
// again after unregister. Bytes that are not UTF-8 are replaced, and a name of more than
// 200 bytes is cut. Caches and timing wheels may have the same names.
//
// unregister may be called more than once, and by several goroutines. A look that began
// before may still call the source.
var Register func(Source) (name string, unregister func())

// A Source is what [Register] takes: a [Cache] or a [Wheel].
type Source interface {
	// source says that the type is one of them. It names no type of the registry: packages
	// that see this interface would have to compile that.
	source()
}

// A Cache describes a cache to the statistics. S is stats.Snapshot. Its functions must be safe for
// concurrent use. They are called without a lock held, so they may take locks. All but
// Snapshot may be nil, if the cache does not offer that.
type Cache[S any] struct {
	Name string // "cache" if empty

	// Snapshot returns what the cache has done, and false once the cache is gone.
	Snapshot func() (s S, ok bool)

	// Operation returns what a Snapshot has for the page, the metrics and the alerts only.
	Operation func() Operation

	// Settings are the options of the cache.
	Settings Settings

	// Failures returns why a load failed last and, for a near cache, why a call of the store failed
	// last, or a value could not be decoded, and why the source lost its connection last, or could not
	// connect; nil for never. The texts are shown only by a handler with stats.WithErrors: they may have
	// secrets in them.
	Failures func() (load, store, source *Failure)

	// HotKeys returns the keys with the most gets, the hottest first.
	HotKeys func() []HotKey

	// FailingKeys returns the keys whose loads fail, those with the most failures in a row first;
	// SlowKeys those whose loads take longest, or did in the last minute. At most ten each.
	FailingKeys, SlowKeys func() []BadKey

	// Purge removes a key, given as text, and returns how many entries it removed, 0 or
	// 1. It returns an error if the text is no key.
	Purge func(key string) (removed int, err error)

	// PurgePrefix removes the entries whose keys, which are strings, begin with prefix, and
	// returns how many it removed.
	PurgePrefix func(prefix string) (removed int)

	// PurgeAll removes all entries, and returns how many it removed.
	PurgeAll func() (removed int)

	// Violation returns the last that the auditor of a near cache has found; nil if there was none.
	Violation func() *Violation

	// PurgeFleet returns what removes a key, or all with a prefix, from a near cache, its store and all instances;
	// nil if the cache is none, or its store knows no instances.
	PurgeFleet func() PurgeFleet

	// Tune changes options of the cache, or only reads them if change is nil, and returns those that
	// hold now; alive is false once the cache is gone. It returns an error that says what is wrong,
	// and has changed nothing then. change may be called several times.
	Tune func(change func(*Tuning)) (now Tuning, alive bool, err error)

	// Record writes a recording for cmd/cachesim to w until ctx ends, of one key in
	// oneIn. It returns an error if it cannot begin, and then has written nothing, or
	// the error of w.
	Record func(ctx context.Context, w io.Writer, oneIn int) error
}

// A PurgeFleet removes a key, given as text, or all keys that begin with it, and returns how many the store had; 1 for
// a single key.
type PurgeFleet func(ctx context.Context, text string, prefix bool) (removed int, err error)

// A Wheel is to a timing wheel what a [Cache] is to a cache. S is stats.WheelSnapshot.
type Wheel[S any] struct {
	Name string // "wheel" if empty

	// Snapshot returns what the wheel has done, and false once the wheel is gone. It must
	// be safe for concurrent use, and is called without a lock held.
	Snapshot func() (s S, ok bool)

	// Settings are what the wheel was made with.
	Settings WheelSettings
}

// WheelSettings say what a timing wheel was made with, for the page.
type WheelSettings struct {
	Interval time.Duration // a tick
	Slots    int           // of each circle, as they are: rounded up to a power of two, and cut
	Workers  int           // most callbacks at once; 0: a pool of the program's calls them
	Limit    int           // most timers; 0: none
}

// A HotKey is a key with many gets.
type HotKey struct {
	Key   string  // as text
	Share float64 // of recent gets, a lower bound; 0 to 1
}

// A BadKey is a key whose loads fail, or take long.
type BadKey struct {
	Hash    uint64        // errors have it too, as 16 hexadecimal digits
	Key     string        // as text, if the cache has HotKeys; else "", as it may be a secret
	Failed  int           // loads in a row that have failed
	Since   time.Time     // when the first of them failed; when the slow load began
	Err     error         // of the last failure
	Took    time.Duration // by the last load so far
	Running bool          // it has not ended
}

// An Operation is what operators want to know of a cache. Counters are cumulative since the cache was
// made; gauges, marked as such, are the present state.
type Operation struct {
	NotFound uint64 // keys for which a load found that there is no value: by Negative, NotFound or Gone

	Failing int // gauge: keys whose last load has failed; at most 64 are known
	InRow   int // gauge: most loads of one key that have failed in a row

	Permits histogram.Histogram // waits of loads for a permit of MaxLoads, of those that had to wait
	Waits   histogram.Histogram // waits of callers of the Takes for a result: for loads of their own, of others, or both
	Refused uint64              // callers of the Takes that got an error, but for one that says that there is no value

	Blocked    int                 // gauge: callers that wait, as too many calls of OnRemove are queued
	StoreReads histogram.Histogram // of a near cache: reads of the store
	Undone     int                 // gauge: likewise, keys whose Del has failed, and is repeated
	Lost       uint64              // likewise, keys whose Del was given up
	Tuned      uint64              // changes of options at run time

	AuditedAge histogram.Histogram // of a near cache: ages of the values that were drawn to be audited
}

// A Violation is a value that a near cache served though it was replaced.
type Violation struct {
	Hash                     uint64    // of the key
	Loaded, Differed, Served time.Time // its load began; the store, or database, had another; it was served still
}

// Settings are the options of a cache, except its limit, which is in the snapshot. A zero
// field means that the option is not set.
type Settings struct {
	Expire, Idle time.Duration // default TTL; greatest time without a read
	Jitter       float64       // fraction by which TTLs are spread
	Refresh      float64       // share of its life after which a value is loaded anew
	RefreshAfter time.Duration // age after which it is
	Grace        time.Duration // how long a value stands in after its deadline
	Patience     time.Duration // of a caller, for a load, before it does
	Negative     bool          // errors may be kept
	Timeout      time.Duration // of a load
	MaxLoads     int           // loads at once
	Bypass       bool          // nothing is stored now: only by Tune
	Workers      int           // calls of OnRemove at once; 0: there is no OnRemove
	Policy       string        // eviction policy
	Accept       []string      // causes of findings that are as intended
}

// A Tuning has the options that can be changed: it is cache.Tuning.
type Tuning struct {
	Expire, Grace, Patience time.Duration
	MaxLoads                int
	Bypass                  bool
}

// Now returns the settings with what has been tuned.
func (c *Cache[S]) Now() Settings {
	s := c.Settings
	if c.Tune != nil {
		if now, alive, _ := c.Tune(nil); alive {
			s.Expire, s.Grace, s.Patience, s.MaxLoads, s.Bypass = now.Expire, now.Grace, now.Patience, now.MaxLoads, now.Bypass
		}
	}
	return s
}

// A Failure is an error, and when it came.
type Failure struct {
	Time time.Time
	Err  error
}

func (Cache[S]) source() {}
func (Wheel[S]) source() {}
