package near

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Revoker is a [Store] that knows who watches it, and so when all have heard of a removal.
type Revoker interface {
	Store

	// Revoke removes keys, as Del does, and returns when each watcher of the source was told
	// of them by [Revoked], or vouches for no moment before the removal any more, or has ended. An
	// error means that this is not certain.
	Revoke(ctx context.Context, keys ...string) (Revocation, error)
}

// A Revocation says why nobody serves any more what a Revoke has removed.
type Revocation struct {
	// Instances is how many caches read the store, as it knows them.
	Instances int

	// Silent is how many of them did not answer, so that Revoke waited until their MaxLag
	// had passed: they were stopped, cut off, or killed lately.
	Silent int

	// Waited says that Revoke did not only wait for answers, but until a MaxLag had passed:
	// because of those that were silent, or as the store might not know all instances.
	Waited bool
}

// Revoked tells w that keys were revoked: that nothing which was in memory, or was loaded, before
// now may be served, whatever vouches for it. To a watcher that does not know revocations
// they are changes.
func Revoked(w Watcher, keys ...string) {
	if r, ok := w.(interface{ Revoked(keys ...string) }); ok {
		r.Revoked(keys...)
		return
	}
	w.Changed(keys...)
}

// ErrNoRevoke means that the store of a cache does not know who watches it.
var ErrNoRevoke = errors.New("near: the store does not know its instances, so nobody can tell when all have heard of a removal: want one that is a Revoker, such as that of near/redis with Options.Fleet")

// Revoke removes keys as Del does, and returns when no instance of the fleet serves what was there
// before: every read that begins afterwards, by any instance, returns the result of a later fetch.
// A read that began before may end afterwards.
//
// If all instances answer, that takes a few round trips. If one does not, Revoke waits until its
// MaxLag has certainly passed. Both are success; RevokeReport tells which it was. After an error,
// also that of a ctx that has ended first, it is not known: call Revoke again.
//
// An instance that was stopped, or that is cut off from the store, keeps this promise if it has
// Options.Strict. Without, it may serve what it has for a MaxLag after it goes on. An error of a
// fetch that Negative keeps in another instance ends too.
//
// Like Del, call it after the commit. The Timeout of the options does not apply.
func (c *Cache[K, V]) Revoke(ctx context.Context, keys ...K) error {
	_, err := c.RevokeReport(ctx, keys...)
	return err
}

// RevokeReport is Revoke, and says how it became certain. The Revocation means nothing after an
// error.
func (c *Cache[K, V]) RevokeReport(ctx context.Context, keys ...K) (Revocation, error) {
	store, ok := c.store.(Revoker)
	if !ok {
		return Revocation{}, ErrNoRevoke
	}
	if len(keys) == 0 {
		return Revocation{}, nil
	}
	defer c.forget(keys...)
	how, err := store.Revoke(ctx, c.texts(keys)...)
	if err != nil {
		return Revocation{}, fmt.Errorf("%w: %w", ErrStore, err)
	}
	return how, nil
}

// texts returns the keys in the store.
func (c *Cache[K, V]) texts(keys []K) []string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = c.local.key(key)
	}
	return texts
}

// Revoked is Changed, and forgets also what was kept with the moment when it was loaded, and the
// loads that callers with an age would join.
func (w watcher[K, V]) Revoked(keys ...string) {
	w.Changed(keys...)
	for _, text := range keys {
		rest, ours := strings.CutPrefix(text, w.prefix)
		if !ours {
			continue
		}
		if key, err := w.text.Parse(rest); err == nil {
			w.Forget(key)
			w.revoked(key)
		} else {
			w.recent.cache.Clear() // as Changed does
		}
	}
}
