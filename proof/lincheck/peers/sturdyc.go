package main

import (
	"context"
	"strconv"
	"time"

	"github.com/viccon/sturdyc"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// openSturdyc has one TTL for all values, and so none of its own for any. A full cache
// drops a part of itself: of a small one, one entry.
func openSturdyc(c config) (*lincheck.Subject, func()) {
	ttl := c.ttl
	if ttl == 0 {
		ttl = time.Hour
	}
	t := sturdyc.New[wide](c.limit, 1, ttl, 34, sturdyc.WithNoContinuousEvictions(), sturdyc.WithLog(&sturdyc.NoopLogger{}))
	s := &lincheck.Subject{
		Get:    func(key int) (int64, bool) { return narrowed(t.Get(strconv.Itoa(key))) },
		Set:    func(key int, value int64) { t.Set(strconv.Itoa(key), widen(value, 0)) },
		Remove: func(key int) { t.Delete(strconv.Itoa(key)) },
		Take: func(key int, fetch func() (int64, error)) (int64, error) {
			v, err := t.GetOrFetch(context.Background(), strconv.Itoa(key), func(context.Context) (wide, error) {
				value, err := fetch()
				return widen(value, 0), err
			})
			return v.narrow(), err
		},
	}
	return s, func() {}
}
