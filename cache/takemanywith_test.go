package cache_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

var (
	errGone   = errors.New("no such row")
	errBroken = errors.New("the row is broken")
)

// outcomes are what a fetch tells of each key.
type outcomes map[string]func(l *cache.Load[int]) (value int, ok bool)

// fetch returns a fetch of TakeManyWith, and notes which keys it got.
func (o outcomes) fetch(asked *[]string) func(context.Context, map[string]*cache.Load[int]) (map[string]int, error) {
	return func(_ context.Context, loads map[string]*cache.Load[int]) (map[string]int, error) {
		*asked = slices.Sorted(maps.Keys(loads))
		time.Sleep(time.Second)
		values := map[string]int{"not asked for": 1}
		for key, l := range loads {
			if value, ok := o[key](l); ok {
				values[key] = value
			}
		}
		return values, nil
	}
}

func valued(value int) func(*cache.Load[int]) (int, bool) {
	return func(*cache.Load[int]) (int, bool) { return value, true }
}

func leftOut(*cache.Load[int]) (int, bool) { return 0, false }

// telling returns an outcome without a value.
func telling(tell func(l *cache.Load[int])) func(*cache.Load[int]) (int, bool) {
	return func(l *cache.Load[int]) (int, bool) { tell(l); return 0, false }
}

// TestTakeManyWith checks that each key has the outcome that its Load tells, and no other.
func TestTakeManyWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Expire: time.Hour})
		defer c.Close(t.Context())
		tell := outcomes{
			"a value": valued(1),
			"short":   func(l *cache.Load[int]) (int, bool) { l.Expire = time.Minute; return 2, true },
			"not kept": func(l *cache.Load[int]) (int, bool) {
				if l.Expire != time.Hour || l.HasOld || l.Old != 0 {
					t.Errorf("a load is told %+v", *l)
				}
				l.Expire = -1
				return 3, true
			},
			"unknown":  telling(func(l *cache.Load[int]) { l.Err, l.NotFound, l.KeepError = errGone, true, time.Minute }),
			"forgot":   telling(func(l *cache.Load[int]) { l.Err, l.NotFound = errGone, true }),
			"broken":   func(l *cache.Load[int]) (int, bool) { l.Err = errBroken; return 4, true },
			"left out": leftOut,
		}
		keys := slices.Sorted(maps.Keys(tell))
		var asked []string
		take := func(wantErr error, want map[string]int, fetched ...string) {
			t.Helper()
			asked = nil
			got, err := c.TakeManyWith(t.Context(), keys, tell.fetch(&asked))
			if err != wantErr || !maps.Equal(got, want) {
				t.Errorf("TakeManyWith = %v, %v; want %v, %v", got, err, want, wantErr)
			}
			if !slices.Equal(asked, fetched) {
				t.Errorf("fetched %q, want %q", asked, fetched)
			}
		}
		all := map[string]int{"a value": 1, "short": 2, "not kept": 3}
		take(errBroken, all, keys...)
		if s := c.Stats(); s.Entries != 2 || s.Negatives != 1 || s.Loads.Failed.Count() != 1 {
			t.Errorf("%d entries, %d errors kept, %d failed loads", s.Entries, s.Negatives, s.Loads.Failed.Count())
		}
		take(errBroken, all, "broken", "forgot", "left out", "not kept")
		tell["broken"] = valued(4)
		all["broken"] = 4
		take(nil, all, "broken", "forgot", "left out", "not kept")
		if s := c.Stats(); s.Loads.Failed.Count() != 2 || s.Loads.OK.Count() != 1 {
			t.Errorf("%d failed loads and %d others, want 2 and 1", s.Loads.Failed.Count(), s.Loads.OK.Count())
		}
		time.Sleep(time.Minute)
		take(nil, all, "forgot", "left out", "not kept", "short", "unknown")
	})
}

// TestTakeManyWithSaysUnchanged checks that each load is told its own old value, that it stays
// if the fetch says so, and that a row that is gone leaves at once, though Grace would let the
// old value stand in.
func TestTakeManyWithSaysUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour, Patience: time.Minute})
		defer c.Close(t.Context())
		for key, value := range map[string]int{"same": 1, "new": 2, "gone": 3, "failed": 4, "left out": 5} {
			c.Set(key, value)
		}
		time.Sleep(2 * time.Minute)
		unchanged := func(l *cache.Load[int]) { l.Unchanged, l.Old = true, 99 }
		tell := outcomes{
			"same":     telling(unchanged),
			"new":      func(l *cache.Load[int]) (int, bool) { return 10 * l.Old, l.HasOld },
			"gone":     telling(func(l *cache.Load[int]) { l.Err, l.NotFound = errGone, true }),
			"failed":   telling(func(l *cache.Load[int]) { l.Err = errBroken }),
			"left out": leftOut,
			"no old":   telling(unchanged),
		}
		var asked []string
		got, err := c.TakeManyWith(t.Context(), slices.Sorted(maps.Keys(tell)), tell.fetch(&asked))
		if want := (map[string]int{"same": 1, "new": 20, "failed": 4}); !maps.Equal(got, want) {
			t.Errorf("TakeManyWith = %v, want %v", got, want)
		}
		if err == nil || len(asked) != 6 {
			t.Errorf("Unchanged without an old value gives %v, in a fetch of %q", err, asked)
		}
		if got, want := maps.Collect(c.All()), (map[string]int{"same": 1, "new": 20}); !maps.Equal(got, want) || c.Len() != 3 {
			t.Errorf("the cache has %v and %d entries, want %v and one in grace", got, c.Len(), want)
		}
	})
}

// TestErrorsOfSingleKeys checks that those who wait for a key get the outcome of this key: its
// value, or its error, and that a key that is left out says nothing to them.
func TestErrorsOfSingleKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{})
		defer c.Close(t.Context())
		tell := outcomes{
			"fine":     valued(1),
			"broken":   telling(func(l *cache.Load[int]) { l.Err = errBroken }),
			"unknown":  telling(func(l *cache.Load[int]) { l.Err, l.KeepError = errGone, time.Hour }),
			"forgot":   telling(func(l *cache.Load[int]) { l.Err, l.NotFound = errGone, true }),
			"left out": leftOut,
		}
		var callers sync.WaitGroup
		keys := slices.Sorted(maps.Keys(tell))
		var asked []string
		callers.Go(func() {
			if _, err := c.TakeManyWith(t.Context(), keys, tell.fetch(&asked)); err != errBroken {
				t.Errorf("the caller that fetches gets %v", err)
			}
		})
		synctest.Wait()
		for key, want := range map[string]struct {
			value int
			err   error
		}{"fine": {1, nil}, "broken": {0, errBroken}, "unknown": {0, errGone}, "forgot": {0, errGone}, "left out": {9, nil}} {
			callers.Go(func() {
				if v, err := c.TakeCtx(t.Context(), key, func(context.Context) (int, error) { return 9, nil }); v != want.value || err != want.err {
					t.Errorf("Take of %q = %d, %v; want %d, %v", key, v, err, want.value, want.err)
				}
			})
			callers.Go(func() {
				got, err := c.TakeMany(t.Context(), []string{key}, func(_ context.Context, keys []string) (map[string]int, error) {
					t.Errorf("TakeMany asks for %q, though another one has just been told", keys)
					return nil, nil
				})
				failed := want.err
				if failed == errGone {
					failed = nil // it means that there is no value
				}
				if err != failed || got[key] != want.value && key != "left out" {
					t.Errorf("TakeMany of %q = %v, %v; want %d, %v", key, got, err, want.value, failed)
				}
			})
		}
		callers.Wait()
		if !slices.Equal(asked, keys) {
			t.Errorf("fetched %q, want %q", asked, keys)
		}
	})
}

// TestTakeManyWithFails checks that the error of a whole fetch is that of all its keys, and
// kept for none, whatever their loads say.
func TestTakeManyWithFails(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{Negative: func(error) time.Duration { return time.Hour }})
	fetch := func(_ context.Context, loads map[string]*cache.Load[int]) (map[string]int, error) {
		for _, l := range loads {
			l.Err, l.NotFound, l.KeepError = errGone, true, time.Hour
		}
		return map[string]int{"a": 1, "b": 2}, errBroken
	}
	got, err := c.TakeManyWith(context.Background(), []string{"a", "b"}, fetch)
	if s := c.Stats(); err != errBroken || len(got) != 0 || s.Negatives != 0 || s.Loads.Failed.Count() != 1 {
		t.Errorf("%v, %v, and %d errors kept, %d loads failed", got, err, s.Negatives, s.Loads.Failed.Count())
	}
}

// TestTakeManyWithAndChanges checks that a change of one key while it is loaded keeps only this
// outcome from being kept, be it a value or an error.
func TestTakeManyWithAndChanges(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{Negative: func(error) time.Duration { return time.Hour }})
	kept := func(l *cache.Load[int]) { l.Err = errGone } // Negative is asked about an error of a key
	tell := outcomes{"a": telling(kept), "b": telling(kept), "c": valued(1), "d": valued(1)}
	keys := slices.Sorted(maps.Keys(tell))
	var asked []string
	got, err := c.TakeManyWith(context.Background(), keys, func(ctx context.Context, loads map[string]*cache.Load[int]) (map[string]int, error) {
		c.Set("a", 7)
		c.Del("c")
		return tell.fetch(&asked)(ctx, loads)
	})
	if err != nil || !maps.Equal(got, map[string]int{"c": 1, "d": 1}) {
		t.Errorf("TakeManyWith = %v, %v", got, err)
	}
	if got := maps.Collect(c.All()); !maps.Equal(got, map[string]int{"a": 7, "d": 1}) || c.Stats().Negatives != 1 {
		t.Errorf("the cache has %v, and %d errors", got, c.Stats().Negatives)
	}
}

// TestTakeManyAsksAgain checks that TakeMany asks its own fetch for a key of which another Take
// finds that it has no value, if that is not kept.
func TestTakeManyAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{})
		defer c.Close(t.Context())
		for keep, want := range map[time.Duration]int{0: 1, time.Hour: 0} {
			c.Clear()
			var other sync.WaitGroup
			other.Go(func() {
				if _, err := c.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[int]) (int, error) {
					time.Sleep(time.Second)
					l.NotFound, l.KeepError = true, keep
					return 0, errGone
				}); err != errGone {
					t.Error(err)
				}
			})
			synctest.Wait()
			got, err := c.TakeMany(t.Context(), []string{"k"}, func(context.Context, []string) (map[string]int, error) {
				return map[string]int{"k": 1}, nil
			})
			if err != nil || got["k"] != want {
				t.Errorf("kept for %v: %v, %v; want %d", keep, got, err, want)
			}
			other.Wait()
		}
	})
}

// TestKeepError checks that a load decides how long its error is kept, before Negative and
// without it, and that errors which say how a load ended are not kept.
func TestKeepError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, negative := range map[string]func(error) time.Duration{"alone": nil, "with Negative": func(error) time.Duration { return time.Minute }} {
			c := cache.Must(cache.Options[string, int]{Name: name, Negative: negative})
			fetched := 0
			take := func(key string, keep time.Duration, fails error) {
				_, err := c.TakeWith(t.Context(), key, func(_ context.Context, l *cache.Load[int]) (int, error) {
					fetched++
					l.KeepError = keep
					return 0, fails
				})
				if err != fails {
					t.Errorf("%s: %v, want %v", name, err, fails)
				}
			}
			want := func(n int, what string) {
				t.Helper()
				if fetched != n {
					t.Errorf("%s: %d fetches %s, want %d", name, fetched, what, n)
				}
				fetched = 0
			}
			for range 2 {
				take("kept", time.Hour, errGone)
				take("not kept", -1, errGone)
				take("ended", time.Hour, context.Canceled)
			}
			want(1+2+2, "in all")
			c.Set("kept", 1)
			c.Del("kept")
			take("kept", time.Hour, errGone)
			want(1, "after a change")
			time.Sleep(time.Hour - 1)
			take("kept", time.Hour, errGone)
			want(0, "before its time has ended")
			time.Sleep(time.Nanosecond)
			take("kept", time.Hour, errGone)
			want(1, "afterwards")
			for i := range 50_000 { // more than one shard has room for
				c.Set(string(rune(i)), i)
			}
			take("kept", time.Hour, errGone)
			want(0, "in a cache that has grown")
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestGone checks that a refresh which finds that there is no value any more removes the old
// one, and its caller gets the error, also in Grace; and that it does not count as failed.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour, Patience: time.Minute})
		defer c.Close(t.Context())
		c.Set("k", 1)
		time.Sleep(2 * time.Minute)
		take := func(notFound bool) (int, error) {
			return c.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[int]) (int, error) {
				l.NotFound = notFound
				return 0, errGone
			})
		}
		if v, err := take(false); v != 1 || err != nil {
			t.Errorf("after a failure: %d, %v", v, err)
		}
		time.Sleep(10 * time.Second) // the pause after it
		if _, err := take(true); err != errGone || c.Len() != 0 {
			t.Errorf("when it is gone: %v, and %d entries", err, c.Len())
		}
		if s := c.Stats(); s.Loads.Refreshes.Failed != 1 || s.Loads.Refreshes.OK != 1 || s.Negatives != 0 {
			t.Errorf("%+v", s.Loads.Refreshes)
		}
	})
}
