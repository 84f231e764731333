package near

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/base"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Local is the part of a [Cache] in memory: a cache.Cache whose entries are dropped when a
// [Source] tells that they changed. It is for programs with a store of another kind, which
// their loads read. Make one with [NewLocal]. Its methods are safe for concurrent use.
//
// A value that it returns was current at some moment of the call or of the MaxLag before it,
// if every load reads the store after it was called, and lets only what it read be kept.
type Local[K comparable, V any] struct {
	link  link
	cache *cache.Cache[K, V]
	spare *cache.Cache[K, V] // what memory had, and can stand in; nil without serveOn
	owner
	prefix  string
	text    Text[K]
	covers  func(key string) bool
	untold  atomic.Pointer[func(key string) bool] // nil, or points to nil: no key is untold
	partial func() bool
	renews  bool   // with the options Refresh and RefreshAfter
	loads   bool   // with the options Load and LoadMany
	ages    bool   // with the option Ages
	unsure  latest // until when there may be values in memory of whose changes nobody tells, or a value stood in
	stoodIn latest // when a value stood in
	waiters waiters
	shares  shares[K]       // with CheckClock: loads that unshareLater was called for
	open    context.Context // until Close
	stop    context.CancelFunc
	stopped chan struct{} // closed when Watch has returned
	counts  localCounts

	failures *failures

	loaded func(key K)               // called when the function of a load has ended; may be nil
	beside func(ctx context.Context) // runs while the source is watched; may be nil
}

// An owner is what the Cache that has a Local adds to it.
type owner struct {
	serveOn   time.Duration            // its option
	operate   func(*sources.Operation) // tells operators more; may be nil
	purge     sources.PurgeFleet       // may be nil
	questions string                   // the beginning of the keys of which asked is told; empty: of none
	asked     func(text string)
	relist    func()                    // after each ChangedAll; may be nil
	violation func() *sources.Violation // may be nil
}

// LocalOptions says what a [Local] does. The zero LocalOptions are those of a cache without
// a limit, whose keys are strings or integers.
type LocalOptions[K comparable, V any] struct {
	// Cache are the options of the cache. Expire is the TTL of a value unless its load sets
	// another. Load and LoadMany, for Fetch and FetchMany, must do what a load of [Local.Take] must.
	// Negative and OnRemove must be nil, and Workers 0: a load uses [KeepError] instead of Negative, and changes must
	// not wait for OnRemove. Grace and Patience must be 0: what a source tells nothing of may be served
	// until its TTL ends, and not after it. A value that is read anew meanwhile, without a caller that
	// waits, is one with a longer TTL and RefreshAfter, or Refresh. With either a hit of Take
	// allocates its function.
	Cache cache.Options[K, V]

	// Amend, if it is not nil, may change each Snapshot after the Local has added its counts, to add
	// more. It is called outside all locks, by several goroutines at once, and must not ask for
	// statistics.
	Amend func(*stats.Snapshot)

	// Prefix is the beginning of each key in the store.
	Prefix string

	// Keys turns keys into strings. It may be zero if K is a string or an integer.
	Keys Text[K]

	// MaxLag bounds the age of what is served: values in memory are served while the source
	// has confirmed a moment at most this long ago, or their load began at most this long
	// ago. 0 means a second. Less than 10 ms is refused.
	MaxLag time.Duration

	// CheckClock has each hit read the clock, so it takes three times as long. Then a process that was stopped, as
	// by SIGSTOP or a debugger, serves nothing older than MaxLag to calls that begin when it is awake again.
	// Without it, it may until its timers run, for some milliseconds. A machine that was suspended stops the clock
	// too. MaxLag must be at most ten seconds then.
	CheckClock bool

	// Logger gets what is rare, such as that the source lost its connection; nil means slog.Default().
	Logger *slog.Logger
}

var _ cache.Loading[string, any] = (*Local[string, any])(nil)

// NewLocal returns an empty Local that watches source until Close. An error wraps
// cache.ErrArgument and says everything that is wrong with the options.
func NewLocal[K comparable, V any](source Source, o LocalOptions[K, V]) (*Local[K, V], error) {
	l, err := newLocal(source, o, owner{})
	if err != nil {
		return nil, err
	}
	go l.watch(source)
	return l, nil
}

// newLocal is NewLocal without the watch, which must follow.
func newLocal[K comparable, V any](source Source, o LocalOptions[K, V], of owner) (*Local[K, V], error) {
	if err := o.check(source); err != nil {
		return nil, err
	}
	l := &Local[K, V]{prefix: o.Prefix, text: o.Keys, owner: of, stopped: make(chan struct{})}
	if l.text.String == nil {
		l.text = textOf[K]()
	}
	l.covers = func(string) bool { return true }
	if c, ok := source.(Coverer); ok {
		l.covers = c.Covers
	}
	l.partial = func() bool { return false }
	if p, ok := source.(PartialSource); ok {
		l.partial = p.Partial
	}
	l.failures = &failures{logger: o.Logger, cache: cmp.Or(o.Cache.Name, "cache"), made: time.Now()}
	l.unsure.Store(never)
	l.stoodIn.Store(never)
	l.prepare(&o.Cache)
	l.link.init(cmp.Or(o.MaxLag, defaultMaxLag), o.CheckClock)
	var err error
	if l.cache, err = cache.New(o.Cache); err != nil {
		return nil, err
	}
	cache.For(l.cache).Amend(base.Owner{
		Amend: func(s *stats.Snapshot) {
			l.addTo(s)
			if o.Amend != nil {
				o.Amend(s)
			}
		},
		Operate: func(of *sources.Operation) {
			of.StoreReads = l.counts.storeReads.Histogram()
			if l.operate != nil {
				l.operate(of)
			}
		},
		Failures: l.failures.last, Violation: l.violation, PurgeFleet: l.purge,
	})
	if l.serveOn > 0 {
		l.spare = cache.Must(cache.Options[K, V]{}) // without Weigh and ExpireBy: forgetAll stores under link.mu
	}
	l.open, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// prepare changes the options of the cache.
func (l *Local[K, V]) prepare(o *cache.Options[K, V]) {
	o.Negative = keepFor
	l.renews, l.loads, l.ages = o.Refresh > 0 || o.RefreshAfter > 0, o.Load != nil || o.LoadMany != nil, o.Ages
	if load := o.Load; load != nil {
		o.Load = func(ctx context.Context, key K, one *cache.Load[V]) (V, error) {
			defer l.begin(key, one)()
			return load(ctx, key, one)
		}
	}
	if load := o.LoadMany; load != nil {
		o.LoadMany = l.begun(load)
	}
}

func (l *Local[K, V]) watch(source Source) {
	w := watcher[K, V]{l}
	defer close(l.stopped)
	if l.beside != nil {
		var beside sync.WaitGroup
		beside.Go(func() { l.beside(l.open) })
		defer beside.Wait()
	}
	defer w.Lost(errWatchEnded)
	source.Watch(l.open, w)
}

var errWatchEnded = errors.New("near: Watch of the source has returned")

// Get returns the value of a key in memory and true, or false if there is none or it may not
// be served now. A hit allocates nothing.
func (l *Local[K, V]) Get(key K) (value V, ok bool) {
	l.settle()
	return l.cache.Get(key)
}

// settle empties memory if it may not be served any more.
//
// Call it before a get. If it came after the get, a reconnection between the two could make a
// value that was read before look current.
func (l *Local[K, V]) settle() {
	if !l.link.certain() {
		l.link.lapse(l.forgetAll)
		if l.link.exact { // what the timers of unshareLater would have done if the process had not been stopped
			l.shares.endDue(l.link.now, l.cache.Del)
		}
	}
}

// forgetAll empties memory. asOf is the moment for which the source has vouched.
func (l *Local[K, V]) forgetAll(asOf int64) {
	l.setAside(asOf, nil) // all: to select calls functions of the program, and link.mu is held
	l.cache.Clear()
}

// setAside lets values in memory stand in until serveOn after asOf: those of the keys for which
// selects returns true, or all if it is nil.
func (l *Local[K, V]) setAside(asOf int64, selects func(text string) bool) {
	left := plus(plus(asOf, int64(l.serveOn)), 1-l.link.now())
	if l.spare == nil || left <= 0 {
		return
	}
	for e := range l.cache.Entries() {
		if selects != nil && !selects(l.key(e.Key)) {
			continue
		}
		l.spare.SetWithExpire(e.Key, e.Value, min(e.TTL, time.Duration(left)))
		if _, ok := l.cache.Peek(e.Key); !ok { // Forget may have come in between
			l.spare.Del(e.Key)
		}
	}
}

// Take returns the value of a key, as Get does, or calls load for it. There is one load per
// key at a time. If the key changes after a load has begun, the value is not kept, and
// callers that come after the change begin another one.
//
// A load must read the store after it was called. Expire is the TTL of the options; load may
// set another one, or a negative one so that the value is not kept. It must do so unless the
// source tells of every change of the value after the load has read it. An error by
// [KeepError] is kept. If load sets NotFound, its error does not count as a failure.
//
// While the source has confirmed no moment within MaxLag, or if it does not cover the
// key, a load gets a negative Expire. It may set one that ends at most MaxLag after it was
// called. Callers that come MaxLag after that do not wait for it.
func (l *Local[K, V]) Take(ctx context.Context, key K, load func(ctx context.Context, l *cache.Load[V]) (V, error)) (V, error) {
	l.settle()
	if l.renews {
		return l.takeWith(ctx, key, load)
	}
	if value, ok := l.cache.Get(key); ok {
		return value, nil
	}
	return l.missed(ctx, key, load)
}

// takeWith is Take if values are renewed, which a Get does not do.
func (l *Local[K, V]) takeWith(ctx context.Context, key K, load loadOne[V]) (V, error) {
	value, err := l.cache.TakeWith(ctx, key, l.begunOne(key, load))
	return value, unkept(err)
}

// missed is Take after a Get that missed, or another look.
func (l *Local[K, V]) missed(ctx context.Context, key K, load loadOne[V]) (V, error) {
	value, err := cache.For(l.cache).Take(ctx, key, l.begunOne(key, load))
	return value, unkept(err)
}

// begunOne makes a function that loads a key say that the load begins and ends.
func (l *Local[K, V]) begunOne(key K, load loadOne[V]) loadOne[V] {
	return func(ctx context.Context, one *cache.Load[V]) (V, error) {
		defer l.begin(key, one)()
		return load(ctx, one)
	}
}

// begun makes a function that loads several keys say that their loads begin and end.
func (l *Local[K, V]) begun(load loadMany[K, V]) loadMany[K, V] {
	return func(ctx context.Context, keys []K, loads []*cache.Load[V]) (map[K]V, error) {
		for i, key := range keys {
			defer l.begin(key, loads[i])()
		}
		return load(ctx, keys, loads)
	}
}

// Fetch is [Local.Take] with the option Load or LoadMany, and allocates nothing at a hit. Without either
// the error wraps cache.ErrArgument.
func (l *Local[K, V]) Fetch(ctx context.Context, key K) (V, error) {
	if !l.loads {
		var none V
		return none, noLoader("Fetch")
	}
	l.settle()
	value, err := l.cache.Fetch(ctx, key)
	return value, unkept(err)
}

// FetchMany is [Local.Fetch] for several keys, as cache.Cache.FetchMany: keys without a value, also those
// with an error by [KeepError], are left out.
func (l *Local[K, V]) FetchMany(ctx context.Context, keys []K) (map[K]V, error) {
	if !l.loads {
		return nil, noLoader("FetchMany")
	}
	l.settle()
	values, err := l.cache.FetchMany(ctx, keys)
	return values, unkept(err)
}

// HotKeys returns the most requested keys, as cache.Cache.HotKeys does.
func (l *Local[K, V]) HotKeys() []cache.HotKey[K] { return l.cache.HotKeys() }

// told reports whether the source tells of changes of a key.
func (l *Local[K, V]) told(text string) bool {
	untold := l.untold.Load()
	return l.covers(text) && (untold == nil || *untold == nil || !(*untold)(text))
}

// begin is called when the load of a key begins, and tells it whether its value may be kept.
// The function that it returns is called when the load ends.
func (l *Local[K, V]) begin(key K, one *cache.Load[V]) (end func()) {
	unshared := func() {}
	if !l.link.vouches() || !l.told(l.key(key)) {
		l.counts.unserved.Add(1)
		l.keepsBriefly()
		one.Expire = -1
		unshared = l.unshareLater(key)
	}
	if l.loaded == nil {
		return unshared
	}
	return func() {
		unshared()
		l.loaded(key)
	}
}

// keepsBriefly notes that a value may be kept for MaxLag whose changes nobody tells.
func (l *Local[K, V]) keepsBriefly() { l.unsure.note(plus(l.link.now(), int64(l.link.maxLag))) }

// unshareLater keeps callers that come MaxLag later from joining a load, unless the function
// that it returns is called before: no source tells of the changes of its key.
func (l *Local[K, V]) unshareLater(key K) (stop func()) {
	timer := time.AfterFunc(l.link.maxLag, func() { l.cache.Del(key) })
	if !l.link.exact {
		return func() { timer.Stop() }
	}
	ended := l.shares.add(key, func() int64 { return plus(l.link.now(), int64(l.link.maxLag)) })
	return func() {
		timer.Stop()
		ended()
	}
}

// StoreFailed notes, for the statistics, why a load could not ask the store.
func (l *Local[K, V]) StoreFailed(err error) { l.failures.noteStore(err) }

// Forget removes keys from memory. Call it after each change of the store, also if that
// returned an error; from then on no caller of this Local gets the old value.
func (l *Local[K, V]) Forget(keys ...K) {
	for _, key := range keys {
		l.cache.Del(key)
		if l.spare != nil {
			l.spare.Del(key)
		}
	}
}

// ForgetPrefix is [Local.Forget] of all keys whose text begins with prefix; all if it is empty. It looks at all
// entries. Call it after the store has removed the keys.
func (l *Local[K, V]) ForgetPrefix(prefix string) {
	watcher[K, V]{l}.ChangedIf(func(key string) bool { return strings.HasPrefix(key, l.prefix+prefix) })
}

// key returns the key in the store.
func (l *Local[K, V]) key(key K) string { return l.prefix + l.text.String(key) }

// standIn returns the value that a key had in memory, as serveOn allows.
func (l *Local[K, V]) standIn(key K) (value V, ok bool) {
	if l.spare == nil {
		return value, false
	}
	return l.spare.Get(key)
}

// Close ends the watch and closes the cache. It waits for both, and for loads under way; if
// ctx ends first, it returns the cause of ctx. Afterwards every Take calls load.
func (l *Local[K, V]) Close(ctx context.Context) error {
	l.stop()
	select {
	case <-l.stopped:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if l.spare != nil {
		_ = l.spare.Close(ctx) // it has no loads and no callbacks to wait for
	}
	return l.cache.Close(ctx)
}

// A watcher is the [Watcher] of a Local.
type watcher[K comparable, V any] struct{ *Local[K, V] }

var (
	_ KeyWatcher = watcher[string, any]{}
	_ LagWatcher = watcher[string, any]{}
)

func (w watcher[K, V]) MaxLag() time.Duration { return w.link.maxLag }

func (w watcher[K, V]) Changed(keys ...string) {
	for _, text := range keys {
		question := w.questions != "" && strings.HasPrefix(text, w.questions)
		if question {
			w.asked(text)
		}
		if w.changed(text) && !question { // it may be a key too
			w.counts.changes.Add(1)
		}
	}
}

// changed is Changed of one key, and reports whether it may be one of the cache.
func (w watcher[K, V]) changed(text string) bool {
	rest, ours := strings.CutPrefix(text, w.prefix)
	if !ours {
		return false
	}
	switch key, err := convert(w.text.Parse, rest); {
	case err == nil:
		w.Forget(key)
	case !strings.HasPrefix(rest, schemaMark): // an unknown key has changed, and not one of a cache with a Schema
		w.clear()
	}
	w.waiters.wake(text)
	return true
}

func (w watcher[K, V]) Except(untold func(key string) bool) { w.untold.Store(&untold) }

func (w watcher[K, V]) ChangedIf(changed func(key string) bool) {
	del := func(key K, _ V) bool { return changed(w.key(key)) }
	w.cache.DelFunc(del)
	if w.spare != nil {
		w.spare.DelFunc(del)
	}
	w.waiters.wakeAll()
}

// clear empties memory. If changes of a key are not told, its server is away: its value can stand
// in.
func (w watcher[K, V]) clear() {
	if w.spare != nil {
		w.spare.DelFunc(func(key K, _ V) bool { return w.told(w.key(key)) })
		if lag, _, known := w.link.lag(); known {
			w.setAside(w.link.now()-int64(lag), func(text string) bool { return !w.told(text) })
		}
	}
	w.cache.Clear()
	w.counts.forgottenAll.Add(1)
}

func (w watcher[K, V]) ChangedAll() {
	w.clear()
	opened := w.link.opened()
	w.waiters.wakeAll()
	if w.relist != nil {
		w.relist()
	}
	if opened {
		w.failures.takeBack(&w.failures.sourceLost, "near: the source reports changes again")
	}
}

func (w watcher[K, V]) Current(asOf time.Time) { w.link.current(asOf) }

func (w watcher[K, V]) Lost(err error) {
	lost := w.link.lost()
	w.waiters.wakeAll()
	if w.open.Err() != nil {
		return // by Close
	}
	w.failures.noteSource(err)
	if lost {
		w.counts.reconnects.Add(1)
		w.failures.warn(&w.failures.sourceLost, "near: the source lost its connection: until it is back, values stay in memory for MaxLag", err)
	}
}
