package peers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/jellydator/ttlcache/v3"
	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestWaiterLeaves ends the context of a caller that waits for the load of another.
//
// Shows: in theine and sturdyc it waits on.
func TestWaiterLeaves(t *testing.T) {
	own := cache.Must(cache.Options[string, int]{})
	others := otter.Must(&otter.Options[string, int]{})
	sturdy := sturdyc.New[int](1000, 1, time.Hour, 10, sturdyc.WithNoContinuousEvictions())
	var load func() int // of theine, whose loader is given once
	var given sync.Once
	theines, err := theine.NewBuilder[string, int](1000).BuildWithLoader(func(context.Context, string) (theine.Loaded[int], error) {
		return theine.Loaded[int]{Value: load(), Cost: 1}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer theines.Close()
	for name, c := range map[string]struct {
		leaves bool
		take   func(ctx context.Context, fetch func() int) (int, error)
	}{
		"pinwheel": {true, func(ctx context.Context, fetch func() int) (int, error) {
			return own.TakeCtx(ctx, "k", func(context.Context) (int, error) { return fetch(), nil })
		}},
		"otter": {true, func(ctx context.Context, fetch func() int) (int, error) {
			return others.Get(ctx, "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) { return fetch(), nil }))
		}},
		"sturdyc": {false, func(ctx context.Context, fetch func() int) (int, error) {
			return sturdy.GetOrFetch(ctx, "k", func(context.Context) (int, error) { return fetch(), nil })
		}},
		"theine": {false, func(ctx context.Context, fetch func() int) (int, error) {
			given.Do(func() { load = fetch })
			return theines.Get(ctx, "k")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var running sync.WaitGroup
			fetching, goOn, left := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			running.Go(func() {
				_, _ = c.take(context.Background(), func() int { close(fetching); <-goOn; return 1 })
			})
			<-fetching
			ctx, cancel := context.WithCancel(context.Background())
			running.Go(func() {
				_, err := c.take(ctx, func() int { return 2 })
				left <- err
			})
			cancel()
			if c.leaves {
				select {
				case err := <-left:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("the waiter got %v, want the end of its context", err)
					}
				case <-time.After(time.Minute):
					t.Error("the waiter waits on")
				}
				close(goOn)
			} else {
				time.Sleep(10 * time.Millisecond) // for one that would leave
				close(goOn)
				if err := <-left; err != nil {
					t.Errorf("the waiter got %v: it no longer waits on", err)
				}
			}
			running.Wait()
		})
	}
}

// TestFailingLoads has all loads fail when a value is due, or has expired.
//
// Shows: how long each cache returns it, and that sturdyc adds an error.
func TestFailingLoads(t *testing.T) {
	const ttl, grace = time.Minute, time.Hour
	down := errors.New("down")
	type take func(fetch func() (int, error)) (int, error)
	for name, c := range map[string]struct {
		end    time.Duration // of the old value
		beside error
		make   func(t *testing.T) take
	}{
		"pinwheel": {ttl + grace, nil, func(*testing.T) take {
			c := cache.Must(cache.Options[string, int]{Expire: ttl, Grace: grace})
			return func(fetch func() (int, error)) (int, error) {
				return c.TakeCtx(context.Background(), "k", func(context.Context) (int, error) { return fetch() })
			}
		}},
		"otter": {ttl + grace, nil, func(t *testing.T) take {
			c := otter.Must(&otter.Options[string, int]{
				RefreshCalculator: otter.RefreshWriting[string, int](ttl),
				ExpiryCalculator:  otter.ExpiryWriting[string, int](ttl + grace),
				Logger:            &otter.NoopLogger{},
			})
			t.Cleanup(func() { c.StopAllGoroutines() })
			return func(fetch func() (int, error)) (int, error) {
				return c.Get(context.Background(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) { return fetch() }))
			}
		}},
		"sturdyc": {ttl + grace, sturdyc.ErrOnlyCachedRecords, func(*testing.T) take {
			c := sturdyc.New[int](1000, 1, ttl+grace, 10, sturdyc.WithNoContinuousEvictions(), sturdyc.WithEarlyRefreshes(ttl, ttl, ttl, time.Second))
			return func(fetch func() (int, error)) (int, error) {
				return c.GetOrFetch(context.Background(), "k", func(context.Context) (int, error) { return fetch() })
			}
		}},
		"ttlcache": {ttl, nil, func(*testing.T) take {
			c := ttlcache.New(ttlcache.WithTTL[string, int](ttl), ttlcache.WithDisableTouchOnHit[string, int]())
			return func(fetch func() (int, error)) (int, error) {
				var failed error
				load := ttlcache.LoaderFunc[string, int](func(c *ttlcache.Cache[string, int], key string) *ttlcache.Item[string, int] {
					v, err := fetch()
					if err != nil {
						failed = err
						return nil
					}
					return c.Set(key, v, ttlcache.DefaultTTL)
				})
				if i := c.Get("k", ttlcache.WithLoader[string, int](load)); i != nil {
					return i.Value(), nil
				}
				return 0, failed
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				take := c.make(t)
				if v, err := take(func() (int, error) { return 1, nil }); v != 1 || err != nil {
					t.Fatalf("%d, %v", v, err)
				}
				fail := func() (int, error) { return 0, down }
				if c.end > ttl {
					time.Sleep(ttl + 1)
					for range 2 { // at first, and shortly before the end
						if v, err := take(fail); v != 1 || !errors.Is(err, c.beside) {
							t.Errorf("%d, %v, want the old value and %v", v, err, c.beside)
						}
						synctest.Wait()
						time.Sleep(c.end - ttl - 2 - time.Second)
					}
				}
				time.Sleep(c.end + 1)
				if _, err := take(fail); !errors.Is(err, down) || c.beside != nil && errors.Is(err, c.beside) {
					t.Errorf("%v after the end, want the error alone", err)
				}
			})
		})
	}
}

// TestNotFoundIsKept asks twice for a key that does not exist, alone and in a batch.
//
// Shows: otter asks the source each time, pinwheel and sturdyc once.
func TestNotFoundIsKept(t *testing.T) {
	missing := errors.New("no such row")
	own := cache.Must(cache.Options[string, int]{Negative: func(error) time.Duration { return time.Hour }})
	others := otter.Must(&otter.Options[string, int]{})
	sturdy := sturdyc.New[int](1000, 1, time.Hour, 10, sturdyc.WithNoContinuousEvictions(), sturdyc.WithMissingRecordStorage())
	none := func(loads *int) func(context.Context, []string) (map[string]int, error) {
		return func(context.Context, []string) (map[string]int, error) { *loads++; return nil, nil }
	}
	for name, c := range map[string]struct {
		one, batch int // loads
		take, many func(loads *int)
	}{
		"pinwheel": {1, 1, func(loads *int) {
			_, _ = own.TakeCtx(context.Background(), "k", func(context.Context) (int, error) { *loads++; return 0, missing })
		}, func(loads *int) {
			_, _ = own.TakeMany(context.Background(), []string{"b"}, none(loads))
		}},
		"otter": {2, 2, func(loads *int) {
			_, _ = others.Get(context.Background(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) { *loads++; return 0, otter.ErrNotFound }))
		}, func(loads *int) {
			_, _ = others.BulkGet(context.Background(), []string{"b"}, otter.BulkLoaderFunc[string, int](none(loads)))
		}},
		"sturdyc": {1, 1, func(loads *int) {
			_, _ = sturdy.GetOrFetch(context.Background(), "k", func(context.Context) (int, error) { *loads++; return 0, sturdyc.ErrNotFound })
		}, func(loads *int) {
			_, _ = sturdy.GetOrFetchBatch(context.Background(), []string{"b"}, func(id string) string { return id }, none(loads))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var one, batch int
			for range 2 {
				c.take(&one)
				c.many(&batch)
			}
			if one != c.one || batch != c.batch {
				t.Errorf("%d loads of a key and %d of a batch, want %d and %d", one, batch, c.one, c.batch)
			}
		})
	}
}
