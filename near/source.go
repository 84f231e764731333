package near

import (
	"context"
	"time"
)

// A Source tells which keys of a [Store] change. The package documentation says what it must
// promise. If it also has a method Partial() bool, the statistics show by it whether some changes
// come late or not at all.
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
// A cache keeps values for MaxLag only before its Watcher was told ChangedAll and then Current.
type Watcher interface {
	// Changed says that keys have or may have changed.
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
	// Current is ignored. What was confirmed stays so: memory is served until MaxLag after it.
	Lost(err error)
}

// A Coverer is a [Source] that tells of some keys only, such as those with certain prefixes.
// The values of other keys are kept in memory for MaxLag.
type Coverer interface {
	// Covers reports whether changes of a key are told. From when that ends until all are told
	// again it returns false; first that, then [ChangedIf].
	Covers(key string) bool
}

// Except tells w, before a ChangedAll, of which keys changes will not be told from then on: those for
// which untold returns true. They are kept for MaxLag, as those that the source does not cover. nil
// means that all are told again. It does nothing unless w has a method Except, as the watcher of this
// package does.
func Except(w Watcher, untold func(key string) bool) {
	if asks, ok := w.(interface{ Except(func(string) bool) }); ok {
		asks.Except(untold)
	}
}

// ChangedIf tells w that the keys for which changed returns true have or may have changed: by
// ChangedAll, unless w can tell them apart, as the watcher of this package does.
func ChangedIf(w Watcher, changed func(key string) bool) {
	if asks, ok := w.(interface{ ChangedIf(func(string) bool) }); ok {
		asks.ChangedIf(changed)
		return
	}
	w.ChangedAll()
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
