package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// ErrSilent is wrapped by errors of the store of a [Follower] that has not heard a whole round of a relay for MaxLag, or
// whose source was lost or may have missed changes since then: what the store has may be older than the database. Then
// near.Options.Away says what callers get. So it is with keys of which the log tells nothing.
var ErrSilent = fmt.Errorf("near/relay: no relay has confirmed that the store is true to the database: %w", near.ErrRefused)

// Shared is a store for a fleet, such as that of near/redis.
type Shared interface {
	near.Leaser
	near.Fleet
}

// A Follower is the store and the source of one near.Cache over a store that relays keep true to a database. It vouches
// for what is true of the database, and reads nothing from the store while that may be older than the MaxLag of the cache.
// Writes and removals always pass; a Set of the cache writes without a lease, so what it has may be older than what
// another one has committed meanwhile: call Del instead. TakeWithin is against the store, which may be as old as MaxLag.
// Its methods are safe for concurrent use.
type Follower struct {
	Shared
	log    Log
	source near.Source
	beat   string                                // the key of the beats
	untold atomic.Pointer[func(key string) bool] // nil, or points to nil: no key is untold

	mu        sync.Mutex
	watched   bool          // somebody does
	maxLag    time.Duration // of the watcher
	from      time.Time     // ChangedAll or Lost came last: what was asked or confirmed before may be of another server
	confirmed time.Time     // all that was committed before it was told; zero: nothing is
	since     time.Time     // it always was, without a gap of MaxLag
}

var (
	_ near.Leaser        = (*Follower)(nil)
	_ near.Fleet         = (*Follower)(nil)
	_ near.Sharded       = (*Follower)(nil)
	_ near.Source        = (*Follower)(nil)
	_ near.Coverer       = (*Follower)(nil)
	_ near.PartialSource = (*Follower)(nil)
)

// Follow returns a Follower over a store and its source, to which relays bring what a log tells. All may be those of
// several Followers; but each cache has a Follower of its own, from which it gets both.
func Follow(log Log, store Shared, source near.Source) *Follower {
	return &Follower{Shared: store, log: log, source: source, beat: beatOf(log.ID())}
}

// Covers reports whether the log and the source tell of a key.
func (f *Follower) Covers(key string) bool {
	c, ok := f.source.(near.Coverer)
	return f.log.Covers(key) && (!ok || c.Covers(key))
}

// Partial is that of the source.
func (f *Follower) Partial() bool {
	p, ok := f.source.(near.PartialSource)
	return ok && p.Partial()
}

// Server is that of the store.
func (f *Follower) Server(key string) int {
	if s, ok := f.Shared.(near.Sharded); ok {
		return s.Server(key)
	}
	return 0
}

// Get is that of the store, if it is true to the database.
func (f *Follower) Get(ctx context.Context, keys ...string) (items []near.Item, err error) {
	err = f.during(keys, func() (err error) { items, err = f.Shared.Get(ctx, keys...); return err })
	return items, err
}

// Lease is that of the store, if it is true to the database.
func (f *Follower) Lease(ctx context.Context, life time.Duration, keys ...string) (items []near.Item, err error) {
	err = f.during(keys, func() (err error) { items, err = f.Shared.Lease(ctx, life, keys...); return err })
	return items, err
}

// during calls read, and returns an error if the store was not true to the database before and after it. Leases that were
// taken end by themselves then.
func (f *Follower) during(keys []string, read func() error) error {
	before, err := f.silent(keys)
	if err != nil {
		return err
	}
	if err := read(); err != nil {
		return err
	}
	if after, err := f.silent(keys); err != nil || !after.Equal(before) { // another one may have answered
		return fmt.Errorf("%w: the source was lost meanwhile", ErrSilent)
	}
	return nil
}

// silent returns an error while what the store has may be older than MaxLag, else from, which another server changes. It
// also does for MaxLag after a gap: a load that began within that is kept for as long, and must not begin with something
// old.
func (f *Follower) silent(keys []string) (from time.Time, err error) {
	untold := f.untold.Load()
	for _, key := range keys {
		if !f.Covers(key) || untold != nil && *untold != nil && (*untold)(key) {
			return from, fmt.Errorf("%w, or will of this key", ErrSilent)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); f.confirmed.After(f.from) && now.Sub(f.confirmed) <= f.maxLag && now.Sub(f.since) > f.maxLag {
		return f.from, nil
	}
	return from, fmt.Errorf("%w for %v, or the source was lost meanwhile", ErrSilent, f.maxLag)
}

// Watch tells w of changes until ctx ends, and vouches for what is true of the database. A second one at the same time
// is told that the source is lost.
func (f *Follower) Watch(ctx context.Context, w near.Watcher) {
	t := &truth{Watcher: w, f: f}
	if !f.begin(near.MaxLag(w)) {
		w.Lost(errWatched)
		<-ctx.Done()
		return
	}
	defer f.end()
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { t.read(ctx) })
	f.source.Watch(ctx, t)
	cancel()
	reading.Wait()
}

var errWatched = errors.New("near/relay: a Follower is of one cache: want another one of Follow")

func (f *Follower) begin(maxLag time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watched {
		return false
	}
	f.watched, f.maxLag, f.from = true, maxLag, time.Now()
	return true
}

func (f *Follower) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched, f.confirmed = false, time.Time{}
}

// confirm says that all was told that was committed before q, of which the cache knows already.
func (f *Follower) confirm(q time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.confirmed) > f.maxLag {
		f.since = now
	}
	if q.After(f.confirmed) {
		f.confirmed = q
	}
}

// A truth is a Watcher that knows up to when the store is true to the database.
type truth struct {
	near.Watcher
	f *Follower // whose mu guards what follows

	asked time.Time // before the beat was read which said that last was the last round to begin; zero: it may be restored
	last  beat
	ends  []end // of rounds whose removals may not all have been told, in order
}

// An end says that a read of a beat which has ended then knows: all that was committed before q is removed.
type end struct{ q, then time.Time }

const mostEnds = 100 // that are kept while the source confirms nothing

// read reads beats until ctx ends.
func (t *truth) read(ctx context.Context) {
	for ; ctx.Err() == nil; wait(ctx, t.f.maxLag/12) {
		asked := time.Now()
		within, cancel := context.WithTimeout(ctx, t.f.maxLag/3)
		items, err := t.f.Shared.Get(within, t.f.beat)
		cancel()
		if err == nil {
			t.heard(parseBeat(string(items[0].Value)), asked)
		}
	}
}

// heard is called when a beat was read, for which the store was asked at a time.
func (t *truth) heard(b beat, asked time.Time) {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	switch {
	case !asked.After(t.f.from):
		return
	case t.last == (beat{}):
		asked = time.Time{} // it may have been restored: what was written since then is later
	case t.asked.IsZero() && b == t.last:
		return
	case t.asked.IsZero(), b.token != t.last.token:
	case b.ended > t.last.begun: // it began after t.asked
		t.ends = append(t.ends[max(0, len(t.ends)+1-mostEnds):], end{t.asked, time.Now()})
	case b.begun != t.last.begun: // it has not ended yet, or the store has lost a later one
		return
	}
	t.asked, t.last = asked, b
}

// Current vouches for what was committed before a moment if asOf is after that in which all of it was removed.
func (t *truth) Current(asOf time.Time) {
	t.f.mu.Lock()
	var q time.Time
	for len(t.ends) > 0 && t.ends[0].then.Before(asOf) {
		q, t.ends = t.ends[0].q, t.ends[1:]
	}
	t.f.mu.Unlock()
	if !q.IsZero() {
		t.Watcher.Current(q)
		t.f.confirm(q)
	}
}

// ChangedAll and Lost have what was confirmed for a while count no more: it may have been of a server whose place
// another one has taken, or the same one with what it had saved.
func (t *truth) ChangedAll() {
	t.forget()
	t.Watcher.ChangedAll()
}

func (t *truth) Lost(err error) {
	t.forget()
	t.Watcher.Lost(err)
}

func (t *truth) forget() {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	t.f.from, t.last, t.ends = time.Now(), beat{}, nil
}

// MaxLag has the source ask more often: two of its answers are awaited, and what is between them.
func (t *truth) MaxLag() time.Duration { return max(t.f.maxLag/3, 10*time.Millisecond) }

func (t *truth) Except(untold func(key string) bool) {
	t.f.untold.Store(&untold)
	near.Except(t.Watcher, untold)
}

func (t *truth) ChangedIf(changed func(key string) bool) { near.ChangedIf(t.Watcher, changed) }
