package near

import (
	"context"
	"time"
)

// A Source tells what changes in a [Store]. The documentation of the package says what it
// promises.
type Source interface {
	// Watch tells w of changes until ctx ends, and returns then. It connects by itself, and
	// again whenever it loses its connection. It may be called several times, by several
	// goroutines, each with a watcher of its own.
	Watch(ctx context.Context, w Watcher)
}

// A Watcher is told what changes, by one goroutine at a time. None of its methods waits for
// others, but they take locks and may remove a whole cache: a source must not let its
// server wait for them.
//
// A Watcher serves nothing before it was told ChangedAll and then Current.
type Watcher interface {
	// Changed says that keys have changed, or may have.
	Changed(keys ...string)

	// ChangedAll says that any key may have changed: the source has just connected, or
	// knows only that something did. When it ends Lost, all changes from now on are told.
	ChangedAll()

	// Current says that every change before asOf has been told. The time is one of this
	// process, with a monotonic reading, as by time.Now. It is the moment at which a
	// question was sent, on the connection that the changes come by, whose answer has come
	// after them, and not the moment of the answer. A time before an earlier one is ignored.
	Current(asOf time.Time)

	// Lost says that from now on changes may go untold, until the next ChangedAll, and why.
	// Current does not count before that.
	Lost(err error)
}

// A Coverer is a [Source] that is told of some keys only, such as those with certain
// prefixes. What it does not cover is read from the store each time and kept nowhere else.
type Coverer interface {
	// Covers reports whether changes of a key are told. The answer for a key is always
	// the same.
	Covers(key string) bool
}

// defaultMaxLag is what a MaxLag of 0 means.
const defaultMaxLag = time.Second

// MaxLag returns how long ago the last Current may be before w serves nothing more: that
// of its options, or a second if w does not say. A source calls Current three times in it,
// or more often.
func MaxLag(w Watcher) time.Duration {
	if lagger, ok := w.(interface{ MaxLag() time.Duration }); ok {
		return lagger.MaxLag()
	}
	return defaultMaxLag
}
