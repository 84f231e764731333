package main

import (
	"errors"
	"time"

	"github.com/jellydator/ttlcache/v3"
	"golang.org/x/sync/singleflight"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// openTTLCache opens a cache in which a hit does not extend the TTL. Touch is left out: it
// restarts an entry's own TTL, and the harness has no such operation.
func openTTLCache(c config) (*lincheck.Subject, func()) {
	options := []ttlcache.Option[int, wide]{
		ttlcache.WithCapacity[int, wide](uint64(c.limit)),
		ttlcache.WithDisableTouchOnHit[int, wide](),
	}
	if c.ttl > 0 {
		options = append(options, ttlcache.WithTTL[int, wide](c.ttl))
	}
	t := ttlcache.New(options...)
	s := &lincheck.Subject{
		Get: func(key int) (int64, bool) { return item(t.Get(key)) },
		Set: func(key int, value int64) { t.Set(key, widen(value, 0), ttlcache.DefaultTTL) },
		SetWithExpire: func(key int, value int64, ttl time.Duration) {
			if ttl == 0 {
				ttl = ttlcache.NoTTL
			}
			t.Set(key, widen(value, 0), ttl)
		},
		Remove: t.Delete,
		GetOrSet: func(key int, value int64) (int64, bool) {
			i, loaded := t.GetOrSet(key, widen(value, 0))
			if !loaded {
				return value, false // the item may have a newer one
			}
			return item(i)
		},
		Take:  ttlCacheTake(t),
		Clear: t.DeleteAll,

		NoErrors: true,
	}
	go t.Start()
	return s, t.Stop
}

func item(i *ttlcache.Item[int, wide]) (int64, bool) {
	if i == nil {
		return 0, false
	}
	return i.Value().narrow(), true
}

var errNoItem = errors.New("no item, and no error")

// ttlCacheTake gives each Get a loader of its own, and all loaders one group, which allows one
// load of a key at a time. A loader stores its value, as in ttlcache's example.
func ttlCacheTake(t *ttlcache.Cache[int, wide]) func(int, func() (int64, error)) (int64, error) {
	group := new(singleflight.Group)
	return func(key int, fetch func() (int64, error)) (int64, error) {
		var fetched bool
		var value int64
		var err error
		load := ttlcache.LoaderFunc[int, wide](func(t *ttlcache.Cache[int, wide], key int) *ttlcache.Item[int, wide] {
			fetched = true
			if value, err = fetch(); err != nil {
				return nil
			}
			return t.Set(key, widen(value, 0), ttlcache.DefaultTTL)
		})
		i := t.Get(key, ttlcache.WithLoader[int, wide](ttlcache.NewSuppressedLoader[int, wide](load, group)))
		switch {
		case fetched:
			return value, err
		case i == nil:
			return 0, errNoItem
		}
		return i.Value().narrow(), nil
	}
}
