package near

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A Cache keeps the most requested values of a [Store] in memory, and drops them when a
// [Source] tells that they changed. Make one with [New]. Its methods are safe for
// concurrent use, and hold no lock while they call a function of the program.
//
// If store and source keep the promises in the package documentation, a value that a Cache
// returns was current in the store, or was the result of fetch, at some moment of the call
// or of the MaxLag before it; while the store cannot be asked, of the ServeOn before it.
type Cache[K comparable, V any] struct {
	local  *Local[K, V]
	store  Store
	leaser Leaser // store, or nil if that has no leases
	values Codec[V]

	expire, localExpire, notFoundExpire time.Duration
	notFound                            error
	jitter                              float64
	away                                Away
	notFoundLocal                       bool
	mayExist                            func(K) bool
	clone                               func(V) V // nil: none
	timeout, lease                      time.Duration
	neighbors                           []string // the beginnings of the keys of other schemas: see Options.Schema

	servers servers
	undone  undone
	fleet   fleet
	tracer  Tracer         // nil: none
	auditor *auditor[K, V] // nil: none
	counts  counts
}

var _ cache.Loading[string, any] = (*Cache[string, any])(nil)

// New returns an empty cache that watches source until Close. If the store is a [Fleet] it puts the instance on its
// list first, for which it waits for a second at most. An error wraps
// cache.ErrArgument and says everything that is wrong with the options. One client may be
// the store and source of several caches, if none of their Prefixes begins with another.
func New[K comparable, V any](store Store, source Source, o Options[K, V]) (*Cache[K, V], error) {
	if err := o.check(store); err != nil {
		return nil, err
	}
	o.merge()
	c := &Cache[K, V]{
		store: store, values: o.Values,
		expire: o.Expire, localExpire: o.Cache.Expire, notFoundExpire: o.NotFoundExpire, notFound: o.NotFound,
		notFoundLocal: o.NotFoundLocal, mayExist: o.MayExist, clone: o.Clone,
		jitter: o.Cache.Jitter, away: o.Away,
		timeout: o.Timeout, lease: cmp.Or(o.Lease, defaultLease),
	}
	c.leaser, _ = store.(Leaser)
	c.servers.init(store)
	c.undone.keep, c.undone.most = cmp.Or(o.RetryDel, defaultRetryDel), cmp.Or(o.RetryKeys, defaultRetryKeys)
	if c.values.Encode == nil {
		c.values = JSON[V]()
	}
	if c.notFound == nil {
		c.notFound = ErrNotFound
	}
	for _, schema := range neighbors(o.Schema) {
		c.neighbors = append(c.neighbors, schemaPrefix(o.Prefix, schema))
	}
	c.setLoader(&o.Cache)
	local := LocalOptions[K, V]{
		Cache: o.Cache, Prefix: schemaPrefix(o.Prefix, o.Schema), Keys: o.Keys, MaxLag: o.MaxLag, CheckClock: o.CheckClock, Logger: o.Logger, Amend: c.counts.addTo,
	}
	of := owner{serveOn: o.ServeOn, operate: c.undone.addTo}
	if o.Audit > 0 {
		c.auditor = c.newAuditor(o.Audit, o.AuditBy)
		local.Amend, of.operate, of.violation = c.amend, c.operate, c.auditor.audits.violation
	}
	if c.fleet.init(store, o.Prefix, cmp.Or(o.MaxLag, defaultMaxLag)); c.fleet.store != nil {
		of.questions, of.asked, of.relist, of.purge = c.fleet.questions, c.asked, c.relist, c.purge
	}
	var err error
	if c.local, err = newLocal(source, local, of); err != nil {
		return nil, err
	}
	c.trace(o.Tracer)
	if a := c.auditor; a != nil {
		a.local, c.local.loaded, c.local.beside = c.local, a.loaded, a.run
	}
	c.joinFleet() // before anything is kept
	go c.local.watch(source)
	return c, nil
}

// Take returns the value of a key from memory, or else from the store, or else from fetch,
// whose result it stores. If the store has leases, one of all callers in the fleet
// that miss a key at the same time calls fetch; the others wait for it, once: if it brought
// nothing, they call their own. The result of fetch is kept nowhere if the key was changed since
// fetch was called.
//
// If fetch returns the error NotFound of the options, Take returns it, and keeps it for
// NotFoundExpire. Other errors of fetch are returned as they are. fetch may use the cache,
// but not Take the same key, which would wait for itself.
//
// With the options Cache.Refresh and Cache.RefreshAfter a hit may begin a load in the background, and
// allocates fetch; [Cache.Fetch] does not.
//
// When its context ends, a caller returns the cause; as in cache.TakeCtx, the context of
// fetch ends when no caller waits any more. Without these options a hit in memory
// does not look at ctx, and allocates nothing.
func (c *Cache[K, V]) Take(ctx context.Context, key K, fetch func(ctx context.Context) (V, error)) (V, error) {
	// Not by local.Get: returning a large value through one more function takes as long as
	// all else that near adds to a hit.
	l := c.local
	c.draw(key)
	l.settle()
	if l.renews {
		// take looks: a Get renews nothing
	} else if value, ok := l.cache.Get(key); ok && c.clone == nil {
		return value, nil
	} else if ok {
		return c.clone(value), nil
	}
	value, err := c.take(ctx, key, fetch)
	return c.copied(value, err == nil), err
}

// Fetch is [Cache.Take] with the loader of the options, Cache.Load or Cache.LoadMany. A hit allocates
// nothing. Without a loader the error wraps cache.ErrArgument.
func (c *Cache[K, V]) Fetch(ctx context.Context, key K) (V, error) {
	if !c.local.loads {
		var none V
		return none, noLoader("Fetch")
	}
	c.draw(key)
	for {
		c.local.settle()
		value, err := c.local.cache.Fetch(ctx, key)
		if err == nil {
			return c.copied(value, true), nil
		}
		if !beginsAgain(err) {
			return value, unkept(err)
		}
	}
}

// copied returns a Clone of a value, if there is a value and a Clone.
func (c *Cache[K, V]) copied(value V, ok bool) V {
	if ok && c.clone != nil {
		return c.clone(value)
	}
	return value
}

func (c *Cache[K, V]) take(ctx context.Context, key K, fetch func(ctx context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("near: fetch of Take is nil: want a function")
	}
	load := func(ctx context.Context, l *cache.Load[V]) (V, error) {
		return c.load(ctx, key, l, func(ctx context.Context, _ *cache.Load[V]) (V, error) { return fetch(ctx) })
	}
	take := c.local.missed
	if c.local.renews {
		take = c.local.takeWith
	}
	value, err := take(ctx, key, load)
	for beginsAgain(err) {
		c.local.settle()
		value, err = c.local.missed(ctx, key, load)
	}
	return value, err
}

// Get returns the value of a key, from memory or from the store, and true; or false if there
// is none. An error means that the store could not be asked, or that a Take for which Get
// waited has failed.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (value V, ok bool, err error) {
	l := c.local
	c.draw(key)
	l.settle()
	if value, ok = l.cache.Get(key); ok { // as in Take
		return c.copied(value, true), true, nil
	}
	for again := true; again; again = isSpared(err) {
		value, err = l.missed(ctx, key, func(ctx context.Context, l *cache.Load[V]) (V, error) {
			one := c.lookup(key, l)
			c.find(ctx, []*lookup[K, V]{one}, nil)
			if one.err != nil && !errors.Is(one.err, c.notFound) {
				one.err = getError{one.err}
			}
			return one.value, one.err
		})
	}
	if of, is := err.(getError); is {
		err = of.error
	}
	if err == errMissing || errors.Is(err, c.notFound) {
		return value, false, nil
	}
	return c.copied(value, err == nil), err == nil, err
}

// Set stores a value for a key in the store. When Set returns without an error, no caller in this
// process gets the old value; other instances may return it for MaxLag at most, usually for much
// less. After an error the value may or may not be stored: call Del. What other versions have stored, with a
// Schema, is removed as by Del.
//
// Write to the database first. After that Del is better than Set: two instances may call Set
// in another order than they wrote to the database.
func (c *Cache[K, V]) Set(ctx context.Context, key K, value V) error {
	data, err := convert(c.values.Encode, value)
	if err != nil {
		return err
	}
	// Memory does not get the value: another instance may write to the store before it would.
	// It forgets the key after an error too, as the store may have changed nevertheless.
	defer c.local.Forget(key)
	item := Item{State: Found, Value: data, TTL: c.ttl(c.expire)}
	text := c.local.key(key)
	now := c.undone.at()
	if err = c.ask(ctx, text, c.traced("write", 1, func(ctx context.Context) error { return c.store.Set(ctx, text, item) })); err == nil {
		c.undone.removed([]string{text}, now) // nothing old is left
	}
	if len(c.neighbors) > 0 {
		// Not before the Set: two versions that Set a key at once would each keep its own value.
		err = cmp.Or(err, c.remove(ctx, c.beside(nil, key)...))
	}
	return err
}

// Del removes keys from the store and from memory. Callers in this process that ask for a
// key after Del has returned get the result of a later fetch, and those in other instances
// at most MaxLag later. Loads of the keys that are under way are not stored.
//
// After an error the store may still have the values. Then the cache repeats the Del until the store has
// it, within the options RetryDel and RetryKeys, also if ctx has ended. Until then this instance does not
// ask the store for the keys, as if it were away, but others may return old values. The caller may call Del
// again too.
func (c *Cache[K, V]) Del(ctx context.Context, keys ...K) error {
	if len(keys) == 0 {
		return nil
	}
	defer c.local.Forget(keys...)
	return c.remove(ctx, c.textsOf(keys)...)
}

// HotKeys returns the most requested keys, as cache.Cache.HotKeys does.
func (c *Cache[K, V]) HotKeys() []cache.HotKey[K] { return c.local.HotKeys() }

// Close ends the watch of the source and empties the memory. It waits for loads under way; if ctx ends first, it
// returns the cause of ctx. At last it tries once more to remove the keys whose Del has failed: if some are left, it
// returns an error that wraps [ErrStore] and says how many. Close does not close the store and the source.
//
// A closed cache can be used. Every Take asks the store, but not for the keys that are left.
func (c *Cache[K, V]) Close(ctx context.Context) error {
	if err := c.local.Close(ctx); err != nil {
		return err
	}
	select {
	case <-c.undone.ended():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := c.servers.wait(ctx); err != nil {
		return err
	}
	if err := c.leaveFleet(ctx); err != nil {
		return err
	}
	return c.closeUndone(ctx)
}
