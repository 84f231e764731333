// This file has what the auditor of a Cache asks, and when two values are the same.

package near

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const (
	mostRead  = 64              // keys that the auditor reads from the store at once
	mostAsked = 8               // keys for each of which it calls AuditBy
	delGrace  = 5 * time.Second // in which a write of the database is followed by its Del
)

func (c *Cache[K, V]) newAuditor(oneIn int, by func(ctx context.Context, key K) (V, error)) *auditor[K, V] {
	if by == nil {
		return newAuditor(c.askStore, 0, mostRead, oneIn)
	}
	return newAuditor(func(ctx context.Context, keys []K) ([]func(V) (bool, error), int) {
		is := make([]func(V) (bool, error), len(keys))
		for i, key := range keys {
			is[i] = c.askDatabase(ctx, key, by)
		}
		return is, 0
	}, delGrace, mostAsked, oneIn)
}

// askStore is an asker.
func (c *Cache[K, V]) askStore(ctx context.Context, keys []K) (is []func(V) (bool, error), bytes int) {
	all := make([]*lookup[K, V], len(keys))
	for i, key := range keys {
		all[i] = &lookup[K, V]{key: key, text: c.local.key(key)}
	}
	eachServer(&c.servers, all, (*lookup[K, V]).keyInStore, func(of []*lookup[K, V]) { c.askServer(ctx, of) })
	for _, one := range all {
		bytes += len(one.item.Value)
		is = append(is, func(value V) (bool, error) {
			switch {
			case one.err != nil:
				return false, one.err
			case one.item.State == Found:
				return c.isStored(value, one.item.Value)
			case c.local.partial():
				return false, errPartial // it may have been evicted, which is not told
			}
			return false, nil
		})
	}
	return is, bytes
}

var errPartial = errors.New("near: the source does not tell of all that happens")

// askServer reads keys of one server, if it answers at present. It is no part of a load.
func (c *Cache[K, V]) askServer(ctx context.Context, all []*lookup[K, V]) {
	items, err, undone := []Item(nil), errUnasked, make([]bool, len(all))
	for i, one := range all {
		undone[i] = c.undone.has(one.text)
	}
	if c.servers.breaker(all[0].text).failures.Load() < maxFailures {
		err = c.ask(ctx, all[0].text, func(ctx context.Context) (err error) {
			items, err = c.store.Get(ctx, texts(all)...)
			return err
		})
	}
	for i, one := range all {
		switch one.err = err; {
		case undone[i]:
			one.err = errUndone
		case err == nil:
			one.item = items[i]
		}
	}
}

// askDatabase is an asker of one key.
func (c *Cache[K, V]) askDatabase(ctx context.Context, key K, by func(context.Context, K) (V, error)) func(value V) (bool, error) {
	found, err := called(ctx, key, by)
	return func(value V) (bool, error) {
		switch {
		case errors.Is(err, c.notFound):
			return false, nil
		case err != nil:
			return false, err
		}
		return c.same(value, found)
	}
}

// called calls AuditBy, and returns a panic of it as an error.
func called[K comparable, V any](ctx context.Context, key K, by func(context.Context, K) (V, error)) (value V, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &cache.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return by(ctx, key)
}

// isStored reports whether the store has a value as data.
func (c *Cache[K, V]) isStored(value V, data []byte) (bool, error) {
	own, err := convert(c.values.Encode, value)
	if err != nil || bytes.Equal(own, data) {
		return err == nil, err
	}
	stored, err := convert(c.values.Decode, data)
	if err != nil { // another program has replaced it, unless nothing can be decoded
		_, err = convert(c.values.Decode, own)
		return false, err
	}
	return c.same(value, stored)
}

var errUnlike = errors.New("near: a value does not equal itself when it was encoded and decoded")

// same reports whether two values are deeply equal once both have been encoded and decoded. Bytes alone may differ, as
// a codec may write a map in any order, or encrypt; and what the database returns may have what no codec keeps.
func (c *Cache[K, V]) same(value, other V) (bool, error) {
	var forms [3]V
	for i, v := range []V{value, other, other} {
		data, err := convert(c.values.Encode, v)
		if err == nil {
			forms[i], err = convert(c.values.Decode, data)
		}
		if err != nil {
			return false, err
		}
	}
	if !reflect.DeepEqual(forms[1], forms[2]) {
		return false, errUnlike
	}
	return reflect.DeepEqual(forms[0], forms[1]), nil
}
