package stats

import (
	"context"
	"io"
	"time"
)

// process is what the process has registered.
var process registries

// A Source is what [Register] takes: a [CacheSource] or a [WheelSource].
type Source interface {
	// source says that the type is one of them. It names no type of the registry: packages
	// that see this interface would have to compile that.
	source()
}

// A CacheSource is how the statistics get to know a cache. Its functions must be safe
// for concurrent use. They are called without a lock held, so they may take locks of
// their own. All but Snapshot may be nil, if the cache does not offer that.
type CacheSource struct {
	Name string // "cache" if empty

	// Snapshot returns what the cache has done, and false once the cache is gone.
	Snapshot func() (s Snapshot, ok bool)

	// Settings are what the cache was made with.
	Settings Settings

	// LastError returns why a load failed last, and when; nil if none did. Its text is
	// shown only if HotKeys is not nil: it may have keys in it.
	LastError func() (at time.Time, err error)

	// HotKeys returns the keys that are asked for most, the hottest first.
	HotKeys func() []HotKey

	// Purge removes a key, written as text, and returns how many entries that were:
	// 0 or 1. It returns an error if no key is written so.
	Purge func(key string) (removed int, err error)

	// PurgePrefix removes the entries whose keys, which are strings, begin with prefix, and
	// returns how many those were.
	PurgePrefix func(prefix string) (removed int)

	// PurgeAll removes all entries, and returns how many those were.
	PurgeAll func() (removed int)

	// Record writes a recording for cmd/cachesim to w until ctx ends, of one key in
	// oneIn. It returns an error if it cannot begin, and then has written nothing, or
	// that of w.
	Record func(ctx context.Context, w io.Writer, oneIn int) error
}

// A WheelSource is to a timing wheel what a [CacheSource] is to a cache.
type WheelSource struct {
	Name string // "wheel" if empty

	// Snapshot returns what the wheel has done, and false once the wheel is gone. It must
	// be safe for concurrent use, and is called without a lock held.
	Snapshot func() (s WheelSnapshot, ok bool)
}

// A HotKey is a key that is asked for often.
type HotKey struct {
	Key   string  // as text
	Share float64 // of all gets of late, an estimate from below; 0 to 1
}

// Register makes a cache or a timing wheel known to [Handler], and to [Caches] or
// [Wheels], until unregister is called or its Snapshot reports false. It panics if
// Snapshot is nil. It is safe for concurrent use.
//
// Once [Handler] has been called, Register takes a first snapshot before it returns.
//
// The registry holds the functions of source as long as it knows it, and so
// everything they refer to. To let a cache be collected that nobody holds any more,
// capture a [weak.Pointer] to it, never the cache itself, and report false once the
// pointer is nil. The registry then forgets the source the next time it looks; a
// [runtime.AddCleanup] that calls unregister frees the name earlier.
//
// Two caches may ask for the same name, but two series with the same labels are
// no valid exposition. So the name is made unique by a suffix, "users",
// "users-2", "users-3" and so on, and returned; it can be had again once it is
// free. Bytes that are not UTF-8 are replaced, and a name of more than 200 bytes is cut. The names of timing wheels are unique
// among themselves, whatever caches are called.
//
// unregister may be called more than once, and from several goroutines. A look that
// began before may still call source.
//
//go:noinline
func Register(source Source) (name string, unregister func()) {
	return process.register(source)
}

func (CacheSource) source() {}
func (WheelSource) source() {}

// A NamedCache is the [Snapshot] of one registered cache. Its Name is valid UTF-8, not
// empty, and differs from that of every other cache registered at the time.
type NamedCache struct {
	Name     string
	Since    time.Time // when it was registered, which tells it from an earlier cache of that name
	Snapshot Snapshot
}

// A NamedWheel is the [WheelSnapshot] of one registered timing wheel. Its Name is
// valid UTF-8, not empty, and differs from that of every other timing wheel registered
// at the time. A cache may have the same.
type NamedWheel struct {
	Name     string
	Since    time.Time // when it was registered
	Snapshot WheelSnapshot
}

// Caches takes a [Snapshot] of every registered cache, one after another, and returns
// them sorted by name. It is safe for concurrent use.
func Caches() []NamedCache { return process.allCaches() }

// Wheels is [Caches] for timing wheels.
func Wheels() []NamedWheel { return process.allWheels() }

func (r *registries) allCaches() []NamedCache {
	looks := r.caches.all(time.Now())
	all := make([]NamedCache, len(looks))
	for i, l := range looks {
		all[i] = NamedCache{l.name, l.since, l.stats}
	}
	return all
}

func (r *registries) allWheels() []NamedWheel {
	looks := r.wheels.all(time.Now())
	all := make([]NamedWheel, len(looks))
	for i, l := range looks {
		all[i] = NamedWheel{l.name, l.since, l.stats}
	}
	return all
}
