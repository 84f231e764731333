package main

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/viccon/sturdyc"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// openSturdyc opens a cache with one TTL for all values. A full cache drops a share of its
// entries, which is one entry of a small cache.
func openSturdyc(c config) (*lincheck.Subject, func()) {
	ttl := c.ttl
	if ttl == 0 {
		ttl = time.Hour
	}
	options := []sturdyc.Option{sturdyc.WithNoContinuousEvictions(), sturdyc.WithLog(&sturdyc.NoopLogger{})}
	if c.refresh {
		options = append(options, sturdyc.WithEarlyRefreshes(time.Nanosecond, 2*time.Nanosecond, time.Hour, time.Minute))
	}
	t := sturdyc.New[wide](c.limit, 1, ttl, 34, options...)
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
	if c.refresh {
		sturdycRefresh(s, t)
	}
	return s, func() {}
}

// sturdycRefresh adapts a cache with refreshes. The cache does not report the end of one, so
// Settle waits a while after its fetch.
func sturdycRefresh(s *lincheck.Subject, t *sturdyc.Client[wide]) {
	const aWhile = time.Millisecond
	var fetching atomic.Int64
	take := s.Take
	s.Take = func(key int, fetch func() (int64, error)) (int64, error) {
		return take(key, func() (int64, error) {
			fetching.Add(1)
			defer fetching.Add(-1)
			return fetch()
		})
	}
	s.TakeMany = func(keys []int, fetch func([]int) (map[int]int64, error)) (map[int]int64, error) {
		values, err := t.GetOrFetchBatch(context.Background(), texts(keys), func(id string) string { return id }, func(_ context.Context, ids []string) (map[string]wide, error) {
			fetching.Add(1)
			defer fetching.Add(-1)
			fetched, err := fetch(numbers(ids))
			all := make(map[string]wide, len(fetched))
			for key, value := range fetched {
				all[strconv.Itoa(key)] = widen(value, 0)
			}
			return all, err
		})
		all := make(map[int]int64, len(values))
		for id, v := range values {
			all[numbers([]string{id})[0]] = v.narrow()
		}
		return all, err
	}
	s.Detached = true
	s.NoErrors = true // it backs off after a refresh that failed
	s.Settle = func() {
		wait(func() bool { return fetching.Load() == 0 })
		time.Sleep(aWhile)
		wait(func() bool { return fetching.Load() == 0 })
	}
}

func texts(keys []int) (ids []string) {
	for _, key := range keys {
		ids = append(ids, strconv.Itoa(key))
	}
	return ids
}

func numbers(ids []string) (keys []int) {
	for _, id := range ids {
		key, _ := strconv.Atoi(id) // made by texts
		keys = append(keys, key)
	}
	return keys
}
