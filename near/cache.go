package near

import (
	"context"
	"errors"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A Cache has the values of a [Store] that are asked for most in memory, and keeps them
// true as a [Source] tells. Make one with [New]. Its methods are safe for concurrent use,
// and hold no lock while they call a function of the program.
//
// What it promises, given what the documentation of the package asks of store and source:
// a value that it hands out was current in the store, or was what fetch returned, at some
// moment of the call or of the MaxLag before it.
type Cache[K comparable, V any] struct {
	local  *Local[K, V]
	store  Store
	leaser Leaser // store, or nil if that has no leases
	values Codec[V]

	expire, localExpire, notFoundExpire time.Duration
	notFound                            error
	jitter                              float64
	away                                Away
	serveOn, timeout, lease             time.Duration

	counts counts
}

// errMissing is the result of a load by Get, which does not fetch, of a key that the store
// has nothing for.
var errMissing = errors.New("near: the store has nothing for the key")

// New returns an empty cache that watches source until Close. An error wraps
// cache.ErrArgument and says everything that is wrong with the options. The same client
// may be store and source of several caches; no two of them have a Prefix that begins with
// that of the other.
func New[K comparable, V any](store Store, source Source, o Options[K, V]) (*Cache[K, V], error) {
	if err := o.check(store); err != nil {
		return nil, err
	}
	c := &Cache[K, V]{
		store: store, values: o.Values,
		expire: o.Expire, localExpire: o.LocalExpire, notFoundExpire: o.NotFoundExpire, notFound: o.NotFound,
		jitter: o.Jitter, away: o.Away,
		serveOn: o.ServeOn, timeout: o.Timeout, lease: orDefault(o.Lease, defaultLease),
	}
	c.leaser, _ = store.(Leaser)
	if c.values.Encode == nil {
		c.values = JSON[V]()
	}
	if c.notFound == nil {
		c.notFound = ErrNotFound
	}
	local := LocalOptions[K, V]{Prefix: o.Prefix, Text: o.Keys, MaxLag: o.MaxLag}
	local.Cache = cache.Options[K, V]{
		Name: o.Name, Limit: o.Limit, MaxWeight: o.MaxWeight, Policy: o.Policy,
		Expire: o.LocalExpire, Jitter: o.Jitter, Weigh: o.Weigh,
		Amend: c.counts.addTo,
	}
	var err error
	if c.local, err = NewLocal(source, local); err != nil {
		return nil, err
	}
	return c, nil
}

// Take returns the value of a key: the one that is here, or else that of the store, or else
// calls fetch, and stores what that returns. Of all callers in the fleet that miss a key at
// the same time one calls fetch, if the store has leases; the others wait for it. What
// fetch returns is kept nowhere if the key was changed since fetch was called.
//
// If fetch says that there is no value, by NotFound of the options, Take returns that
// error, and keeps it as NotFoundExpire says. Other errors of fetch are returned as they
// are. fetch may use the cache, but not Take the same key, which would wait for itself.
//
// A caller leaves when its context ends; as in cache.TakeCtx, the context that fetch gets
// ends when nobody waits any more. A hit here does not look at ctx, and allocates nothing.
func (c *Cache[K, V]) Take(ctx context.Context, key K, fetch func(ctx context.Context) (V, error)) (V, error) {
	// Not by local.Get: to hand a large value on through one more function takes as long as
	// all that near adds to a hit.
	if l := c.local; l.serves() {
		if value, ok := l.cache.Get(key); ok {
			return value, nil
		}
	}
	return c.take(ctx, key, fetch)
}

func (c *Cache[K, V]) take(ctx context.Context, key K, fetch func(ctx context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("near: Take with a nil fetch")
	}
	for {
		value, err := c.local.missed(ctx, key, func(ctx context.Context, l *cache.Load[V]) (V, error) {
			return c.load(ctx, key, l, fetch)
		})
		if err != errMissing { // else it joined a Get
			return value, err
		}
	}
}

// Get returns the value of a key, and true: the one that is here or that of the store. It
// returns false if there is none. An error means that the store could not be asked, or that
// a Take which Get waited for has failed.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (value V, ok bool, err error) {
	if l := c.local; l.serves() { // as in Take
		if value, ok = l.cache.Get(key); ok {
			return value, true, nil
		}
	}
	value, err = c.local.missed(ctx, key, func(ctx context.Context, l *cache.Load[V]) (V, error) {
		return c.read(ctx, key, l)
	})
	if err == errMissing || errors.Is(err, c.notFound) {
		return value, false, nil
	}
	return value, err == nil, err
}

// Set stores a value for a key, whatever that has. When it returns without an error, no
// caller here gets what was before; other instances do so for MaxLag at most, mostly for
// much less. After an error it is not known whether the value was stored.
//
// The database is to be written before, and then Del is the better choice: two instances
// may call Set in another order than they wrote.
func (c *Cache[K, V]) Set(ctx context.Context, key K, value V) error {
	data, err := c.values.Encode(value)
	if err != nil {
		return err
	}
	// Not stored here: somebody may write to the store before it is. And in any case, for
	// the store may have been changed though it says that it was not.
	defer c.local.Forget(key)
	item := Item{State: Found, Value: data, TTL: c.ttl(c.expire)}
	return c.ask(ctx, func(ctx context.Context) error { return c.store.Set(ctx, c.local.key(key), item) })
}

// Del removes keys, from the store and from here: whoever asks for one after Del has
// returned gets what fetch returns then, other instances MaxLag later at the latest. It
// also keeps every load that is under way from being stored. After an error the store may
// still have the values, and goes on handing them to all: call Del again.
func (c *Cache[K, V]) Del(ctx context.Context, keys ...K) error {
	if len(keys) == 0 {
		return nil
	}
	defer c.local.Forget(keys...)
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = c.local.key(key)
	}
	return c.ask(ctx, func(ctx context.Context) error { return c.store.Del(ctx, texts...) })
}

// Close ends the watch and forgets what is here. It waits for loads that are under way; if
// ctx ends before, it returns the cause. A closed cache goes on without a memory: every
// Take asks the store. The store and the source stay as they are.
func (c *Cache[K, V]) Close(ctx context.Context) error { return c.local.Close(ctx) }
