package near

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Local is a cache.Cache that a [Source] keeps true: what [Cache] has in the memory of
// an instance. It is for those who have a store of their own kind; it does not know that.
// Make one with [NewLocal]. Its methods are safe for concurrent use.
//
// A value that it hands out was current at some moment of the call or of the MaxLag before
// it, if the loads keep their side: they begin to read the truth when they are called, and
// have only that kept.
type Local[K comparable, V any] struct {
	link    link
	cache   *cache.Cache[K, V]
	prefix  string
	text    Text[K]
	covers  func(key string) bool
	waiters waiters
	stop    context.CancelFunc
	stopped chan struct{} // closed when Watch has returned
	counts  localCounts
}

// LocalOptions says what a [Local] does. The zero LocalOptions are those of a cache without
// a limit, whose keys are strings or integers.
type LocalOptions[K comparable, V any] struct {
	// Cache are the options of the cache. Expire is the TTL of values whose load says
	// nothing else. Negative and OnRemove must be nil, the latter since changes must not
	// wait for it. Amend gets each Snapshot with what the Local has added to it.
	Cache cache.Options[K, V]

	// Prefix is what the store has in front of the string of each key.
	Prefix string

	// Text turns keys into strings. It may be zero if K is a string or an integer.
	Text Text[K]

	// MaxLag is how long ago the moment up to which the source has vouched may be for what
	// is here to be served; 0 means a second. Less than 10 ms is refused.
	MaxLag time.Duration
}

// NewLocal returns an empty Local that watches source until Close. An error wraps
// cache.ErrArgument and says everything that is wrong with the options.
func NewLocal[K comparable, V any](source Source, o LocalOptions[K, V]) (*Local[K, V], error) {
	if err := o.check(source); err != nil {
		return nil, err
	}
	l := &Local[K, V]{prefix: o.Prefix, text: o.Text, stopped: make(chan struct{})}
	if l.text.String == nil {
		l.text = textOf[K]()
	}
	l.covers = func(string) bool { return true }
	if c, ok := source.(Coverer); ok {
		l.covers = c.Covers
	}
	o.Cache.Negative = keepFor
	amend := o.Cache.Amend
	o.Cache.Amend = func(s *stats.Snapshot) {
		l.addTo(s)
		if amend != nil {
			amend(s)
		}
	}
	l.link.init(orDefault(o.MaxLag, defaultMaxLag))
	var err error
	if l.cache, err = cache.New(o.Cache); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.watch(ctx, source)
	return l, nil
}

func (l *Local[K, V]) watch(ctx context.Context, source Source) {
	w := watcher[K, V]{l}
	defer close(l.stopped)
	defer w.Lost(errWatchEnded)
	source.Watch(ctx, w)
}

var errWatchEnded = errors.New("near: Watch of the source has returned")

// Get returns the value that is here for a key, and true; or false if there is none, or it
// may not be served now. A hit allocates nothing.
func (l *Local[K, V]) Get(key K) (value V, ok bool) {
	if !l.serves() {
		return value, false
	}
	return l.cache.Get(key)
}

// serves reports whether a get that follows may look here, and counts it if not.
//
// It comes before the get: what is here was vouched for no longer ago when it is read than
// when it was looked whether it may be served. The other way round, a reconnection between
// the two would make what was read before look right.
func (l *Local[K, V]) serves() bool {
	if l.link.serves() {
		return true
	}
	l.counts.unserved.Add(1)
	return false
}

// Take returns the value of a key, as Get does, or calls load for it. There is one load per
// key at a time; what has changed since it began is not kept, and who comes after the
// change does not get it.
//
// While nothing may be served, or the source does not cover the key, every caller has a load
// of its own, which is told so by a negative TTL, and nothing is kept.
//
// A load must read the truth after it was called. It is told the TTL of the options, and
// may choose another one, or have the value not kept by a negative one: it must, if it does
// not know that the source tells of each change from now on. An error that [KeepError]
// returned is kept, and handed out without it. One that means that there is no value is not
// counted as a failure if the load sets NotFound.
func (l *Local[K, V]) Take(ctx context.Context, key K, load func(ctx context.Context, l *cache.Load[V]) (V, error)) (V, error) {
	if value, ok := l.Get(key); ok {
		return value, nil
	}
	return l.missed(ctx, key, load)
}

// missed is Take after a Get.
func (l *Local[K, V]) missed(ctx context.Context, key K, load func(ctx context.Context, l *cache.Load[V]) (V, error)) (value V, err error) {
	if l.link.serves() && l.covers(l.key(key)) {
		value, err = l.cache.TakeMissed(ctx, key, load)
	} else {
		// Not by a flight: that may have begun long ago, and now nobody tells of changes.
		value, err = load(ctx, &cache.Load[V]{Expire: -1})
	}
	return value, unkept(err)
}

// Forget removes keys from here. Who changes the store calls it when that has returned,
// also with an error; from then on no caller of this Local gets what was before.
func (l *Local[K, V]) Forget(keys ...K) {
	for _, key := range keys {
		l.cache.Del(key)
	}
}

// key returns what the store calls a key.
func (l *Local[K, V]) key(key K) string { return l.prefix + l.text.String(key) }

// peek returns what is here for a key, if it was vouched for no longer ago than a time.
func (l *Local[K, V]) peek(key K, atMost time.Duration) (value V, ok bool) {
	if lag, known := l.link.lag(); !known || lag > atMost {
		return value, false
	}
	return l.cache.Peek(key)
}

// Close ends the watch and closes the cache: it waits for both, and for loads that are
// under way. If ctx ends before, it returns the cause. Afterwards every Take calls load.
func (l *Local[K, V]) Close(ctx context.Context) error {
	l.stop()
	select {
	case <-l.stopped:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return l.cache.Close(ctx)
}

// A watcher is what the source of a Local tells of changes.
type watcher[K comparable, V any] struct{ *Local[K, V] }

// MaxLag is for sources that vouch in time.
func (w watcher[K, V]) MaxLag() time.Duration { return w.link.maxLag }

func (w watcher[K, V]) Changed(keys ...string) {
	for _, text := range keys {
		rest, ours := strings.CutPrefix(text, w.prefix)
		if !ours {
			continue
		}
		w.counts.changes.Add(1)
		if key, err := w.text.Parse(rest); err == nil {
			w.cache.Del(key)
		} else {
			w.cache.Clear() // which of the keys it is cannot be known
		}
		w.waiters.wake(text)
	}
}

func (w watcher[K, V]) ChangedAll() {
	w.cache.Clear()
	w.counts.forgottenAll.Add(1)
	w.link.opened()
	w.waiters.wakeAll()
}

func (w watcher[K, V]) Current(asOf time.Time) { w.link.current(asOf) }

func (w watcher[K, V]) Lost(error) {
	if w.link.lost() {
		w.counts.reconnects.Add(1)
	}
	w.waiters.wakeAll()
}
