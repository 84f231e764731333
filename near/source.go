package near

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Source tells which keys of a [Store] change. The package documentation says what it must
// promise.
type Source interface {
	// Watch tells w of changes until ctx ends, and then returns. It connects by itself, and
	// again whenever it loses its connection. It may be called several times, also
	// concurrently, each time with another watcher.
	Watch(ctx context.Context, w Watcher)
}

// A Watcher is told of changes, by one goroutine at a time. None of its methods waits for
// other callers, but they take locks and may clear a whole cache: a source must not let its
// server wait for them.
//
// A cache serves nothing from memory before its Watcher was told ChangedAll and then Current.
type Watcher interface {
	// Changed says that keys have or may have changed, and that loads which begin now read
	// the change.
	Changed(keys ...string)

	// ChangedAll says that any key may have changed: the source has just connected, or does
	// not know which keys changed. After Lost it also says that all changes from now on will
	// be told.
	ChangedAll()

	// Current says that every change before asOf has been told. asOf is a time of this
	// process with a monotonic reading, as by time.Now. The source sends a question on the
	// connection of the changes, so its answer comes after the changes before it; asOf is
	// when the question was sent, not when the answer came. An asOf before an earlier one is
	// ignored.
	Current(asOf time.Time)

	// Lost says that changes may go untold until the next ChangedAll, and why. Until then
	// Current is ignored.
	Lost(err error)
}

// A Coverer is a [Source] that tells of some keys only, such as those with certain prefixes.
// Other keys are read from the store each time, and not kept in memory.
type Coverer interface {
	// Covers reports whether changes of a key are told. The answer for a key is always
	// the same.
	Covers(key string) bool
}

// A PrefixCoverer is a [Coverer] that knows which prefixes it covers. A cache refuses a Prefix
// of which the source covers no key: nothing of it could be kept in memory.
type PrefixCoverer interface {
	// CoversPrefix reports whether changes are told of any key with a prefix.
	CoversPrefix(prefix string) bool
}

// A Reporter is a [Source] with counts of its own for the statistics of a cache.
type Reporter interface {
	// Report sets those fields of n that only the source knows. It is called concurrently.
	Report(n *stats.Near)
}

// defaultMaxLag is the MaxLag if the option is 0.
const defaultMaxLag = time.Second

// MaxLag returns the option MaxLag of the cache of w, or a second if w does not say. A
// source calls Current at least three times in each MaxLag.
func MaxLag(w Watcher) time.Duration {
	if lagger, ok := w.(interface{ MaxLag() time.Duration }); ok {
		return lagger.MaxLag()
	}
	return defaultMaxLag
}

// ServesFor returns for how long the cache of w serves values after a moment that was vouched for. That
// is MaxLag, unless w is between the source and the cache and has the source ask more often.
func ServesFor(w Watcher) time.Duration {
	if between, ok := w.(interface{ ServesFor() time.Duration }); ok {
		return between.ServesFor()
	}
	return MaxLag(w)
}
