// This file has the removals that return when no instance can serve what was there.

package near

import (
	"context"
	"errors"
	"fmt"
)

// Revoke removes keys as [Cache.Del] does, and returns when no instance can serve what was there before: no Take or Get
// that begins after it has returned, in any instance, returns a value that was loaded before Revoke began, nor is one
// stored afterwards. That takes a few round trips if all instances answer. Otherwise, and in the first MaxLag after the
// source of this one has connected, it takes as long as the instances may serve what they have, their MaxLag: if one
// has not answered, the log says which. Within eight seconds after the first instance has begun, or the store has lost
// its keys, it also waits until those are over, and always if no instance may write to the store. All end with nil.
//
// An error that wraps [ErrStore] means that the keys may be there; as after Del, the removal is repeated. If the error
// says that they are removed, because ctx has ended or nobody could say which instances there are, others may serve them
// until their MaxLag later.
//
// It is not waited for an instance that could not write to the store for ten minutes, since it was made, or since the
// store lost its lists: it may serve what it has fetched itself, for its MaxLag; nor for a [Local] of its own; nor, beyond their MaxLag, for
// instances that serve old values while the store is away (ServeOn). A store without leases may store late what was
// loaded before. If the source does not cover keys that begin with Prefix and ~~, each Revoke takes the MaxLag. The
// store must be a [Fleet], or the error wraps cache.ErrArgument.
func (c *Cache[K, V]) Revoke(ctx context.Context, keys ...K) error {
	if c.fleet.store == nil {
		return noFleet("Revoke")
	}
	if len(keys) == 0 {
		return nil
	}
	texts := c.textsOf(keys)
	if err := c.remove(ctx, texts...); err != nil {
		c.local.Forget(keys...)
		return err
	}
	return c.tellAll(ctx, question{Keys: bytesOf(texts)})
}

// DelPrefix removes all keys whose text begins with prefix, from the store and from all instances, whoever has stored
// them, with the leases on them. When it has returned without an error no instance serves or stores what was loaded
// before it began, as after [Cache.Revoke], which says what that takes. With a Schema also those of the versions before
// and after this one are removed, as by Del; if one of them has none, and prefix is empty, those of all versions.
//
// It returns how many keys the store has removed, also with an error: if ctx ends, or a server cannot be asked, the
// others have been removed or not. It is not repeated, so call it again.
func (c *Cache[K, V]) DelPrefix(ctx context.Context, prefix string) (removed int, err error) {
	if c.fleet.store == nil {
		return 0, noFleet("DelPrefix")
	}
	var q question
	for _, beginning := range append([]string{c.local.prefix}, c.neighbors...) {
		q.Prefixes = append(q.Prefixes, []byte(beginning+prefix))
		failed := c.traced("remove", 0, func(ctx context.Context) error {
			n, err := c.fleet.store.DelPrefix(ctx, beginning+prefix)
			removed += n
			return err
		})(ctx)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrStore, failed))
		}
	}
	if err != nil {
		c.forget(q)
		return removed, err
	}
	return removed, c.tellAll(ctx, q)
}

// Clear is [Cache.DelPrefix] of all keys of the cache, without a count.
func (c *Cache[K, V]) Clear(ctx context.Context) error {
	_, err := c.DelPrefix(ctx, "")
	return err
}

// purge is Revoke of a key, given as text, or DelPrefix, for package stats.
func (c *Cache[K, V]) purge(ctx context.Context, text string, prefix bool) (removed int, err error) {
	if prefix {
		return c.DelPrefix(ctx, text)
	}
	key, err := convert(c.local.text.Parse, text)
	if err != nil {
		return 0, err
	}
	return 1, c.Revoke(ctx, key)
}

// textsOf returns the keys in the store, and those that neighbors of the schema have.
func (c *Cache[K, V]) textsOf(keys []K) []string {
	texts := make([]string, 0, len(keys)*(1+len(c.neighbors)))
	for _, key := range keys {
		texts = c.beside(append(texts, c.local.key(key)), key)
	}
	return texts
}

func bytesOf(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, text := range texts {
		all[i] = []byte(text)
	}
	return all
}
