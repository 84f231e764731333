package near

import (
	"context"
	"time"
)

// A Source tells which keys of a [Store] change. The package documentation says what it must
// promise. It may also be a [Coverer] and a [PartialSource].
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
	// Changed says that keys have or may have changed, and that loads which begin now read that.
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
	// Covers reports whether changes of a key are told. When a source stops telling of keys, it
	// first returns false for them, and then calls [ChangedIf]. It returns true again only when
	// all changes of the key are told again.
	Covers(key string) bool
}

// A PartialSource is a [Source] that may be worse than others. The statistics show it.
type PartialSource interface {
	// Partial reports whether at present some changes are told late or not at all.
	Partial() bool
}

// A KeyWatcher is a [Watcher] that can forget some keys and keep the others. That of this package
// is one. A source calls the functions [Except] and [ChangedIf], which also work without it.
type KeyWatcher interface {
	// Except comes before a ChangedAll. From then on the source tells of no changes of the keys
	// for which untold returns true. They are kept for MaxLag, as those that the source does not
	// cover. nil means that all changes are told again.
	Except(untold func(key string) bool)

	// ChangedIf says that the keys for which changed returns true have or may have changed.
	ChangedIf(changed func(key string) bool)
}

// Except calls the Except of w if w is a [KeyWatcher], and else does nothing.
func Except(w Watcher, untold func(key string) bool) {
	if k, ok := w.(KeyWatcher); ok {
		k.Except(untold)
	}
}

// ChangedIf calls the ChangedIf of w if w is a [KeyWatcher], and else ChangedAll.
func ChangedIf(w Watcher, changed func(key string) bool) {
	if k, ok := w.(KeyWatcher); ok {
		k.ChangedIf(changed)
		return
	}
	w.ChangedAll()
}

// A LagWatcher is a [Watcher] that says how often it must hear Current. That of this package is
// one. A source calls the function [MaxLag], which also works without it.
type LagWatcher interface {
	// MaxLag returns the option MaxLag of the cache.
	MaxLag() time.Duration
}

// defaultMaxLag is the MaxLag if the option is 0.
const defaultMaxLag = time.Second

// MaxLag returns the option MaxLag of the cache of w, or a second if w does not say. A
// source calls Current at least three times in each MaxLag.
func MaxLag(w Watcher) time.Duration {
	if l, ok := w.(LagWatcher); ok {
		return l.MaxLag()
	}
	return defaultMaxLag
}
