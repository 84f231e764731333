// This file has the loader of a cache, given once or by call: what it is told of each key, and what it
// says.

package near

import (
	"context"
	"errors"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A loadOne is the option Load, or a fetch of Take, but without its key.
type loadOne[V any] = func(ctx context.Context, l *cache.Load[V]) (V, error)

// A loadMany is the option LoadMany, or a fetch of TakeMany.
type loadMany[K comparable, V any] = func(ctx context.Context, keys []K, loads []*cache.Load[V]) (map[K]V, error)

// setLoader makes the cache in memory load by the loader of the options: from the store first.
func (c *Cache[K, V]) setLoader(o *cache.Options[K, V]) {
	if load := o.Load; load != nil {
		o.Load = func(ctx context.Context, key K, l *cache.Load[V]) (V, error) {
			return c.load(ctx, key, l, func(ctx context.Context, l *cache.Load[V]) (V, error) { return load(ctx, key, l) })
		}
	}
	if load := o.LoadMany; load != nil {
		o.LoadMany = func(ctx context.Context, keys []K, loads []*cache.Load[V]) (map[K]V, error) {
			return c.loadMany(ctx, keys, loads, load)
		}
	}
}

// load is the load of a key: it finds it in the store, or calls a function.
func (c *Cache[K, V]) load(ctx context.Context, key K, l *cache.Load[V], load loadOne[V]) (V, error) {
	return c.loadOne(ctx, c.lookup(key, l), load)
}

func (c *Cache[K, V]) loadOne(ctx context.Context, one *lookup[K, V], load loadOne[V]) (V, error) {
	c.find(ctx, []*lookup[K, V]{one}, func(ctx context.Context, _ []*lookup[K, V]) {
		said := c.tell(one)
		value, err := load(ctx, said)
		c.accept(one, said, value, true, err)
	})
	return one.value, one.err
}

// loadMany is load for several keys, and says the error of each.
func (c *Cache[K, V]) loadMany(ctx context.Context, keys []K, loads []*cache.Load[V], load loadMany[K, V]) (map[K]V, error) {
	all := make([]*lookup[K, V], len(keys))
	for i, key := range keys {
		all[i] = c.lookup(key, loads[i])
	}
	c.find(ctx, all, func(ctx context.Context, lacking []*lookup[K, V]) { c.fetchMany(ctx, lacking, load) })
	values := make(map[K]V, len(keys))
	for i, one := range all {
		values[one.key], loads[i].Err = one.value, one.err
	}
	return values, nil
}

func (c *Cache[K, V]) fetchMany(ctx context.Context, lacking []*lookup[K, V], load loadMany[K, V]) {
	missing, loads := make([]K, len(lacking)), make([]*cache.Load[V], len(lacking))
	for i, one := range lacking {
		missing[i], loads[i] = one.key, c.tell(one)
	}
	values, err := load(ctx, missing, loads)
	for i, one := range lacking {
		if err != nil {
			loads[i].Err = err
			if len(lacking) > 1 { // what was said before of a single key does not explain the error of all
				loads[i].NotFound, loads[i].Gone = false, false
			}
		}
		value, found := values[one.key]
		c.accept(one, loads[i], value, found, loads[i].Err)
	}
}

// tell returns what the function that loads is told of a key, and what it says more than the value.
func (c *Cache[K, V]) tell(one *lookup[K, V]) *cache.Load[V] {
	one.fetched = true
	said := &cache.Load[V]{Old: one.load.Old, HasOld: one.load.HasOld, Expire: c.expire}
	if said.HasOld && c.clone != nil {
		said.Old = c.clone(said.Old)
	}
	return said
}

var errUnchanged = errors.New("near: a load said Unchanged without an old value")

// accept takes what a function has loaded, and has said of it.
func (c *Cache[K, V]) accept(one *lookup[K, V], said *cache.Load[V], value V, found bool, err error) {
	one.value, one.err, one.expire = value, err, said.Expire
	one.none = err != nil && (said.NotFound || said.Gone)
	one.gone = err != nil && said.Gone
	switch {
	case err != nil:
	case said.Gone, !found && !said.Unchanged:
		one.err = c.notFound
	case said.Unchanged && !one.load.HasOld:
		one.err = errUnchanged
	case said.Unchanged:
		one.value = one.load.Old
	}
}
