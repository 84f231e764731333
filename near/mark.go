package near

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A Mark names a moment for all instances of a service: whoever was given one by [Cache.Mark] after
// a write gets nothing older than that write from [Cache.TakeSince], by any instance. It is text
// without spaces that fits in a header or a cookie. What it says is for the source that made it.
//
// The zero Mark comes before all writes. A Mark that a source does not know, such as one that
// somebody has made up, costs a read of the store.
type Mark string

// UnknownMark is a Mark that no source knows: TakeSince asks anew.
const UnknownMark Mark = "?"

// A Marker is a [Source] that makes marks. Instances have no clock in common; so each of them finds
// a moment of its own that comes after a mark.
type Marker interface {
	Source

	// Mark returns a mark of a moment of the call. It comes after all changes that were
	// acknowledged before the call, to anybody.
	Mark(ctx context.Context) (Mark, error)

	// Moment returns a time of this process, with a monotonic reading, that is not before the
	// moment of a mark, whichever instance has made it; or false if it knows of none yet, or
	// does not know the mark. It is called concurrently, does not wait, and allocates nothing.
	Moment(mark Mark) (time.Time, bool)
}

// Mark returns a mark of now, which comes after every write that has been acknowledged. Call it
// after the commit, and after the Del, Set or Revoke that follows it: a mark that was made before
// promises nothing of that write.
//
// It asks the server of the source, once. If the source makes no marks, and with an error, it
// returns [UnknownMark], which can be handed on: it costs a read of the store each time.
func (c *Cache[K, V]) Mark(ctx context.Context) (Mark, error) { return c.local.Mark(ctx) }

// Mark returns a mark of now, as [Cache.Mark] does.
func (l *Local[K, V]) Mark(ctx context.Context) (Mark, error) {
	if l.marker == nil {
		return UnknownMark, nil
	}
	mark, err := l.marker.Mark(ctx)
	if err != nil {
		return UnknownMark, err
	}
	return mark, nil
}

// TakeSince is [Cache.Take] for callers who want nothing older than a mark: the answer was
// current in the store, or was the result of fetch, at some moment of the call or between the mark
// and the call. So who has the mark of a write reads that write, or a later one, from any
// instance. The zero Mark wants no more than Take does.
//
// A value in memory is returned if the source has vouched for a moment after the mark. That takes
// a part of MaxLag from when the mark was made; until then, and if the source does not know the
// mark, all is as in [Cache.TakeWithin] with an age of 0. That reads the store, so what was written to a database must
// have been removed from the store before the mark was made. A hit in memory allocates nothing.
func (c *Cache[K, V]) TakeSince(ctx context.Context, mark Mark, key K, fetch func(context.Context) (V, error)) (V, error) {
	if mark == "" {
		return c.Take(ctx, key, fetch)
	}
	return c.takeFrom(ctx, key, c.local.oldestSince(mark), fetch)
}

// TakeSince is [Local.Take] for callers who want nothing older than a mark: the answer was current,
// in what the loads read, at some moment of the call or between the mark and the call. Until the
// source has vouched for a moment after the mark it calls load anew. All else is as in
// [Cache.TakeSince].
func (l *Local[K, V]) TakeSince(ctx context.Context, mark Mark, key K, load func(ctx context.Context, l *cache.Load[V]) (V, error)) (V, error) {
	if mark == "" {
		return l.Take(ctx, key, load)
	}
	return l.takeFrom(ctx, key, l.oldestSince(mark), load)
}

// oldestSince returns the moment before which nothing is young enough for a mark.
func (l *Local[K, V]) oldestSince(mark Mark) int64 {
	if l.marker != nil {
		if moment, ok := l.marker.Moment(mark); ok {
			return int64(moment.Sub(l.link.start))
		}
	}
	return always
}
