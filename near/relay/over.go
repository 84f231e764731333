package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/stats"
)

var (
	_ near.Source = (*Relayed)(nil)
	_ near.Leaser = (*Relayed)(nil)

	_ near.PrefixCoverer = (*Relayed)(nil)
	_ near.Coverer       = (*Relayed)(nil)
	_ near.Reporter      = (*Relayed)(nil)
	_ near.Revoker       = (*Relayed)(nil)
	_ near.Marker        = (*Relayed)(nil)
)

// A Relayed is the store and the source of near caches over a Redis from which a relay removes what
// changes in the database. Its methods are safe for concurrent use.
type Relayed struct {
	redis *redis.Redis
	chain *redis.Chain

	mu       sync.Mutex // guards watchers
	watchers map[*listener]vouch
}

// Over returns the store and source for a Redis whose Options.Relay names the relay; it is an error if that is
// empty. Caches that share it are served from Redis while the source vouches to all of them.
func Over(r *redis.Redis) (*Relayed, error) {
	chain, err := r.Chain()
	if err != nil {
		return nil, err
	}
	return &Relayed{redis: r, chain: chain, watchers: map[*listener]vouch{}}, nil
}

// ErrNotVouched means that Redis was not read, as no relay vouches that it has what the
// database has. It is wrapped by the errors of Get and Lease.
var ErrNotVouched = errors.New("near/relay: for MaxLag no relay has vouched for Redis; is one running?")

// Get reads keys, if a relay vouches for what Redis has.
func (r *Relayed) Get(ctx context.Context, keys ...string) ([]near.Item, error) {
	return r.vouched(func() ([]near.Item, redis.Beat, error) { return r.chain.Get(ctx, keys...) })
}

// Lease reads keys and takes leases, if a relay vouches for what Redis has.
func (r *Relayed) Lease(ctx context.Context, life time.Duration, keys ...string) ([]near.Item, error) {
	return r.vouched(func() ([]near.Item, redis.Beat, error) { return r.chain.Lease(ctx, life, keys...) })
}

// vouched returns what read reads, if all watchers are vouched for, before and after.
func (r *Relayed) vouched(read func() ([]near.Item, redis.Beat, error)) ([]near.Item, error) {
	vouches := r.vouches()
	if !believed(vouches, time.Now()) {
		return nil, ErrNotVouched
	}
	items, last, err := read()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if !believed(vouches, now) {
		return nil, ErrNotVouched
	}
	for _, v := range vouches {
		if !v.reached(last) {
			return nil, ErrNotVouched
		}
		for i := range items {
			v.limit(&items[i], now)
		}
	}
	return items, nil
}

// Set removes the key: the value may be older than what the database has by now.
func (r *Relayed) Set(ctx context.Context, key string, _ near.Item) error { return r.Del(ctx, key) }

// Del removes keys. A change of the database needs no Del; with it, other instances hear of the change
// before the relay does.
func (r *Relayed) Del(ctx context.Context, keys ...string) error { return r.redis.Del(ctx, keys...) }

// Revoke removes keys, and returns when no instance serves what was there before. Redis needs a Fleet.
func (r *Relayed) Revoke(ctx context.Context, keys ...string) (near.Revocation, error) {
	return r.redis.Revoke(ctx, keys...)
}

// Mark returns a mark of now. What was written to the database before it must have been removed by
// Del or Revoke: until an instance is vouched for, TakeSince asks Redis, where the relay may not have removed
// it yet. Redis needs a Fleet.
func (r *Relayed) Mark(ctx context.Context) (near.Mark, error) { return r.redis.Mark(ctx) }

// Moment returns a time of this process after a mark.
func (r *Relayed) Moment(mark near.Mark) (time.Time, bool) { return r.redis.Moment(mark) }

// Fill stores an item in the place of a lease, which has ended if the key has changed since.
func (r *Relayed) Fill(ctx context.Context, key, token string, item near.Item) (bool, error) {
	return r.redis.Fill(ctx, key, token, item)
}

// Release removes a lease.
func (r *Relayed) Release(ctx context.Context, key, token string) error {
	return r.redis.Release(ctx, key, token)
}

// Covers reports whether changes of a key are told.
func (r *Relayed) Covers(key string) bool { return r.redis.Covers(key) }

// CoversPrefix reports whether changes are told of any key with a prefix.
func (r *Relayed) CoversPrefix(prefix string) bool { return r.redis.CoversPrefix(prefix) }

// Report counts what the Redis counts.
func (r *Relayed) Report(n *stats.Near) { r.redis.Report(n) }

// Watch tells w of changes in Redis, and vouches for moments before which all changes of the
// database have been told, until ctx ends.
func (r *Relayed) Watch(ctx context.Context, w near.Watcher) {
	l := &listener{Watcher: w, beatOf: r.chain.Heard, maxLag: near.MaxLag(w)}
	l.give = func(v vouch) { r.set(l, v) }
	l.give(vouch{})
	defer r.forget(l)
	r.redis.Watch(ctx, l)
}

func (r *Relayed) set(l *listener, v vouch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[l] = v
}

func (r *Relayed) forget(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watchers, l)
}

func (r *Relayed) vouches() (all []vouch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.watchers {
		all = append(all, v)
	}
	return all
}
