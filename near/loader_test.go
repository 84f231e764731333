package near_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

var errOfLoad = errors.New("the load failed")

// say loads a key as its name says, and tells l so.
func say(key string, l *cache.Load[string]) (string, error) {
	switch key {
	case "short":
		l.Expire = time.Second
	case "brief":
		l.Expire = 100 * time.Millisecond
	case "unstored":
		l.Expire = -1
	case "none":
		l.NotFound = true
		return "", errOfLoad
	case "gone":
		l.Gone = true
	case "left out": // by loadSeveral
		l.Gone = true
	case "gone with an error":
		l.Gone = true
		return "", errOfLoad
	case "unchanged":
		l.Unchanged = true
	case "fails":
		return "", errOfLoad
	}
	return "v", nil
}

// fetchOne is a Fetch or, if many is set, a FetchMany of one key.
func fetchOne(ctx context.Context, c cache.Loading[string, string], many bool, key string) (string, error) {
	if !many {
		return c.Fetch(ctx, key)
	}
	values, err := c.FetchMany(ctx, []string{key, key})
	value, ok := values[key]
	if !ok && err == nil {
		err = near.ErrNotFound
	}
	return value, err
}

// TestLoader checks that Fetch and FetchMany load by a loader given once what the store does not have,
// and that what it says of a key holds in the store and in memory.
func TestLoader(t *testing.T) {
	for name, loaders := range map[string]cache.Options[string, string]{"Load": {Load: loadOne}, "LoadMany": {LoadMany: loadSeveral}, "both": {Load: loadOne, LoadMany: loadSeveral}} {
		for _, many := range []bool{false, true} {
			inRig(t, near.Options[string, string]{Expire: time.Hour, NotFoundExpire: time.Minute, MaxLag: time.Hour, Cache: loaders}, func(t *testing.T, r *rig) {
				r.store("stored", "1", 0)
				for key, want := range map[string]struct {
					value string
					err   error
					state near.State
					ttl   time.Duration
					loads uint64 // of two calls
				}{
					"stored":             {value: "1", state: near.Found},
					"value":              {value: "v", state: near.Found, ttl: time.Hour, loads: 1},
					"short":              {value: "v", state: near.Found, ttl: time.Second, loads: 1},
					"unstored":           {value: "v", loads: 2},
					"none":               {err: errOfLoad, state: near.Absent, ttl: time.Minute, loads: 1},
					"gone":               {err: near.ErrNotFound, state: near.Absent, ttl: time.Minute, loads: 1},
					"left out":           {err: near.ErrNotFound, state: near.Absent, ttl: time.Minute, loads: 1},
					"gone with an error": {err: errOfLoad, state: near.Absent, ttl: time.Minute, loads: 1},
					"unchanged":          {err: errors.New("near: a load said Unchanged without an old value"), loads: 2},
					"fails":              {err: errOfLoad, loads: 2},
				} {
					before := r.Stats().Near.Fetches
					for range 2 {
						value, err := fetchOne(t.Context(), r, many, key)
						if many && (key == "none" || key == "gone with an error") && err == near.ErrNotFound {
							err = errOfLoad // a kept error leaves the key out
						}
						if err == nil && value != want.value || (err == nil) != (want.err == nil) || err != nil && err.Error() != want.err.Error() {
							t.Errorf("%s, many %v: %s = %q, %v, want %q, %v", name, many, key, value, err, want.value, want.err)
						}
					}
					record := r.server.items[key]
					if record.State != want.state || record.State != near.Missing && record.TTL != want.ttl {
						t.Errorf("%s, many %v: %s is in the store as %+v, want %+v", name, many, key, record, want)
					}
					if loads := r.Stats().Near.Fetches - before; loads != want.loads {
						t.Errorf("%s, many %v: %d loads of %s, want %d", name, many, loads, key, want.loads)
					}
				}
			})
		}
	}
}

// Catches: what was loaded without the store, and stays in memory for longer than its loader says.
func TestLoaderWithoutStore(t *testing.T) {
	inRig(t, near.Options[string, string]{Cache: cache.Options[string, string]{Load: loadOne}}, func(t *testing.T, r *rig) {
		r.server.fail = func(string) bool { return true }
		for key, want := range map[string][3]uint64{"value": {1, 1, 2}, "brief": {1, 2, 3}, "unstored": {2, 3, 4}} {
			before := r.Stats().Loads.OK.Count()
			_, err := r.Fetch(t.Context(), key)
			must(t, err)
			for i, pause := range []time.Duration{0, 101 * time.Millisecond, time.Second} {
				time.Sleep(pause)
				if value, err := r.Fetch(t.Context(), key); value != "v" || err != nil || r.Stats().Loads.OK.Count()-before != want[i] {
					t.Errorf("%s after %v: %q, %v with %d loads, want %d", key, pause, value, err, r.Stats().Loads.OK.Count()-before, want[i])
				}
			}
		}
	})
}

func loadOne(_ context.Context, key string, l *cache.Load[string]) (string, error) {
	return say(key, l)
}

// loadSeveral leaves out the value of one key, and those of keys with an error.
func loadSeveral(_ context.Context, keys []string, loads []*cache.Load[string]) (map[string]string, error) {
	values := map[string]string{}
	for i, key := range keys {
		switch value, err := say(key, loads[i]); {
		case err != nil:
			loads[i].Err = err
		case key == "left out":
			loads[i].Gone = false
		default:
			values[key] = value
		}
	}
	return values, nil
}

// Catches: a FetchMany that asks the store or LoadMany once for each key, one that stops at the error of
// a key, or gets that of all keys; a cache without a loader that does not say so.
func TestFetchMany(t *testing.T) {
	var asked [][]string
	var failure error
	var fails map[string]error
	load := func(_ context.Context, keys []string, loads []*cache.Load[string]) (map[string]string, error) {
		asked = append(asked, slices.Clone(keys))
		for i, key := range keys {
			loads[i].Err = fails[key]
		}
		return map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}, failure
	}
	inRig(t, near.Options[string, string]{MaxLag: time.Hour, Cache: cache.Options[string, string]{LoadMany: load}}, func(t *testing.T, r *rig) {
		r.store("stored", "3", 0)
		reads := r.server.called("lease")
		got, err := r.FetchMany(t.Context(), []string{"a", "stored", "b", "none"})
		if err != nil || len(got) != 3 || len(asked) != 1 || !slices.Equal(asked[0], []string{"a", "b", "none"}) || r.server.called("lease") != reads+1 {
			t.Errorf("%v, %v, with loads of %q", got, err, asked)
		}
		fails = map[string]error{"c": errOfLoad}
		if got, err := r.FetchMany(t.Context(), []string{"c", "a", "d", "none"}); err != errOfLoad || len(got) != 2 || got["d"] != "4" {
			t.Errorf("with the error of a key: %v, %v", got, err)
		}
		failure, fails = errOfLoad, nil
		if got, err := r.FetchMany(t.Context(), []string{"a", "c"}); err != errOfLoad || len(got) != 1 {
			t.Errorf("with the error of all: %v, %v", got, err)
		}
	})
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		local, err := near.NewLocal(new(hand), near.LocalOptions[string, string]{})
		must(t, err)
		defer local.Close(context.Background())
		for _, c := range []cache.Loading[string, string]{r, local} {
			for _, many := range []bool{false, true} {
				if _, err := fetchOne(t.Context(), c, many, "k"); !errors.Is(err, cache.ErrArgument) {
					t.Errorf("%T without a loader, many %v: %v", c, many, err)
				}
			}
		}
	})
}

// Catches: an error of all keys that is kept as "not found" for one, as its load said so before; a key of
// which a load says Gone with an error, and whose error is returned though nothing keeps it.
func TestLoadManySays(t *testing.T) {
	var failure error
	load := func(_ context.Context, keys []string, loads []*cache.Load[string]) (map[string]string, error) {
		for _, l := range loads {
			l.Gone, l.NotFound, l.Err = true, true, errOfLoad
		}
		return nil, failure
	}
	options := near.Options[string, string]{MaxLag: time.Hour, NotFoundExpire: time.Hour, Cache: cache.Options[string, string]{LoadMany: load}}
	inRig(t, options, func(t *testing.T, r *rig) {
		failure = errors.New("the database is down")
		if got, err := r.FetchMany(t.Context(), []string{"a", "b"}); err != failure || len(got) != 0 || len(r.server.items) != 0 {
			t.Errorf("with the error of all: %v, %v, and the store has %v", got, err, r.server.items)
		}
	})
	inRig(t, options, func(t *testing.T, r *rig) { // of a single key what was said of it counts
		if _, err := r.FetchMany(t.Context(), []string{"a"}); err != nil && err != failure || len(r.server.items) != 1 {
			t.Errorf("of one key: %v, and the store has %v", err, r.server.items)
		}
	})
	failure, options.NotFoundExpire = nil, 0
	inRig(t, options, func(t *testing.T, r *rig) {
		if got, err := r.FetchMany(t.Context(), []string{"a", "b"}); err != nil || len(got) != 0 {
			t.Errorf("all are gone: %v, %v", got, err)
		}
		if _, err := r.Fetch(t.Context(), "a"); err != errOfLoad {
			t.Errorf("Fetch of one that is gone: %#v", err)
		}
	})
}

// Catches: an error of another cache, or of another library, that counts as "not found" although the
// options name another.
func TestForeignNotFound(t *testing.T) {
	for _, o := range []near.Options[string, string]{{NotFoundExpire: time.Hour}, {NotFoundExpire: time.Hour, NotFound: errOfLoad}} {
		for name, take := range ways {
			inLoadingRig(t, o, func(t *testing.T, r *rig) {
				for _, err := range []error{cache.ErrNotFound, near.ErrNotFound} {
					if r.err = err; err == near.ErrNotFound && o.NotFound == nil {
						continue
					}
					_, got := take(r)
					_, many := r.TakeMany(t.Context(), []string{"k"}, r.fetchMany)
					if got != err || many != err || len(r.server.items) != 0 {
						t.Errorf("%s: %v, TakeMany: %v, and the store has %v", name, got, many, r.server.items)
					}
				}
			})
		}
	}
	if !errors.Is(near.ErrNotFound, cache.ErrNotFound) {
		t.Error("a service that depends on cache.Loading does not see near.ErrNotFound")
	}
}

// inLoadingRig is inRig with a loader that is the fetch of the rig.
func inLoadingRig(t *testing.T, o near.Options[string, string], f func(t *testing.T, r *rig)) {
	bubble(t, func(t *testing.T) {
		var r *rig
		o.Cache.Load = func(ctx context.Context, _ string, _ *cache.Load[string]) (string, error) { return r.fetch(ctx) }
		r = newRig(t, o)
		f(t, r)
	})
}

// ways are the methods that take a key, by its name; each gets what Take would fetch.
var ways = map[string]func(r *rig) (string, error){
	"Take":      func(r *rig) (string, error) { return r.Take(r.t.Context(), "k", r.fetch) },
	"Fetch":     func(r *rig) (string, error) { return r.Fetch(r.t.Context(), "k") },
	"FetchMany": func(r *rig) (string, error) { return fetchOne(r.t.Context(), r, true, "k") },
	"TakeMany": func(r *rig) (string, error) {
		values, err := r.TakeMany(r.t.Context(), []string{"k"}, r.fetchMany)
		if _, ok := values["k"]; !ok && err == nil {
			err = near.ErrNotFound
		}
		return values["k"], err
	},
}

// Catches: a method that serves from memory past MaxLag.
func TestEachWayForgets(t *testing.T) {
	for name, take := range ways {
		inLoadingRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
			r.store("k", "v", 0)
			for _, reads := range []int{1, 1, 2} {
				if value, err := take(r); value != "v" || err != nil || r.server.called("lease") != reads {
					t.Errorf("%s: %q, %v with %d reads of the store, want %d", name, value, err, r.server.called("lease"), reads)
				}
				time.Sleep(501 * time.Millisecond) // the third is past MaxLag
			}
		})
	}
}

// TestRenewal checks that a value that is due is served at once and read from the store anew, or loaded
// if that has nothing; that while the store is away it stays, until LocalExpire, and spares the database;
// and that it leaves with a load that finds nothing.
func TestRenewal(t *testing.T) {
	for name, take := range ways {
		testRenewal(t, name+" with RefreshAfter", cache.Options[string, string]{RefreshAfter: time.Minute}, take)
		testRenewal(t, name+" with Refresh", cache.Options[string, string]{Refresh: 0.016}, take)
	}
}

func testRenewal(t *testing.T, name string, o cache.Options[string, string], take func(r *rig) (string, error)) {
	inLoadingRig(t, near.Options[string, string]{LocalExpire: time.Hour, MaxLag: 100 * time.Hour, Cache: o}, func(t *testing.T, r *rig) {
		want := func(what, value string, err error, fetched int) {
			t.Helper()
			before := r.fetched
			got, gotErr := take(r)
			synctest.Wait()
			if err == nil && got != value || gotErr != err || r.fetched-before != fetched {
				t.Errorf("%s, %s: %q, %v with %d fetches, want %q, %v with %d", name, what, got, gotErr, r.fetched-before, value, err, fetched)
			}
		}
		r.store("k", "1", 0)
		want("at first", "1", nil, 0)
		r.store("k", "2", 0)
		time.Sleep(time.Minute)
		want("due", "1", nil, 0)
		want("read anew", "2", nil, 0)
		r.server.fail = func(string) bool { return true }
		time.Sleep(time.Minute)
		want("due, and the store is away", "2", nil, 0)
		time.Sleep(58 * time.Minute)
		want("long due", "2", nil, 0)
		if n := r.Stats().Loads.Refreshes; n.OK != 1 || n.Failed < 1 {
			t.Errorf("%s: %+v", name, n)
		}
		time.Sleep(time.Minute)
		r.value = "loaded"
		want("past LocalExpire", "loaded", nil, 1)
		r.server.fail = nil
		must(t, r.Set(t.Context(), "k", "3"))
		want("set", "3", nil, 0)
		r.server.drop("k")
		time.Sleep(time.Minute)
		r.value = "4"
		want("due, and the store has nothing", "3", nil, 1)
		want("loaded anew", "4", nil, 0)
		r.server.drop("k")
		time.Sleep(time.Minute)
		r.err = near.ErrNotFound
		want("due, and there is none", "4", nil, 1)
		want("it has left", "", near.ErrNotFound, 1)
	})
}

// Catches: a loader that can change the value that callers get, as it is given it and not a Clone.
func TestCloneOfOld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		loads := 0
		load := func(_ context.Context, _ string, l *cache.Load[[]int]) ([]int, error) {
			if loads++; l.HasOld {
				l.Old[0] = 9
			}
			return []int{1}, errOfLoad
		}
		store, source := newServer(), new(hand)
		store.put("k", near.Item{State: near.Found, Value: []byte("[1]")})
		c, err := near.New(store, source, near.Options[string, []int]{
			MaxLag: time.Hour, Clone: slices.Clone[[]int], Cache: cache.Options[string, []int]{RefreshAfter: time.Minute, Load: load},
		})
		must(t, err)
		defer c.Close(context.Background())
		synctest.Wait()
		source.ChangedAll()
		source.vouch()
		for range 3 {
			if value, err := c.Fetch(t.Context(), "k"); err != nil || value[0] != 1 {
				t.Errorf("%v, %v", value, err)
			}
			synctest.Wait()
			delete(store.items, "k")
			time.Sleep(time.Minute)
		}
		if loads == 0 {
			t.Error("nothing was loaded")
		}
	})
}

// Catches: a caller that gets the error of a renewal without a store, though Away and ServeOn say more, as
// memory has lost the value that was renewed.
func TestRenewalWithoutStore(t *testing.T) {
	for name, take := range ways {
		testRenewalWithoutStore(t, name, take, take)
	}
	testRenewalWithoutStore(t, "Get", ways["Take"], nil)
}

// testRenewalWithoutStore begins a renewal by take, which after joins; nil is a Get, which does not fetch.
func testRenewalWithoutStore(t *testing.T, name string, take, after func(r *rig) (string, error)) {
	wants := func(r *rig, what string, take func(r *rig) (string, error), want string) {
		r.t.Helper()
		if value, err := take(r); value != want || err != nil {
			r.t.Errorf("%s %s: %q, %v, want %q", name, what, value, err, want)
		}
	}
	if after != nil {
		o := near.Options[string, string]{LocalExpire: 61 * time.Second, MaxLag: time.Hour, Cache: cache.Options[string, string]{RefreshAfter: time.Minute}}
		inLoadingRig(t, o, func(t *testing.T, r *rig) {
			r.store("k", "1", 0)
			wants(r, "at first", take, "1")
			r.server.fail = hangs
			time.Sleep(time.Minute)
			wants(r, "due", take, "1")
			time.Sleep(1001 * time.Millisecond)
			wants(r, "past LocalExpire, during the renewal", after, "fetched")
		})
	} else {
		after = func(r *rig) (string, error) {
			value, _, err := r.Get(r.t.Context(), "k")
			return value, err
		}
	}
	o := near.Options[string, string]{MaxLag: 10 * time.Second, ServeOn: time.Hour, Cache: cache.Options[string, string]{RefreshAfter: time.Second}}
	inLoadingRig(t, o, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		wants(r, "at first", take, "1")
		r.hand.Lost(errServer)
		r.store("k", "2", 0)
		time.Sleep(10*time.Second + 1)
		wants(r, "lost", take, "2")
		r.server.fail = hangs
		time.Sleep(9 * time.Second)
		wants(r, "due", take, "2")
		time.Sleep(1001 * time.Millisecond)
		wants(r, "past MaxLag, during the renewal", after, "1")
	})
}

// hangs is a store that fails after a while.
func hangs(string) bool {
	time.Sleep(2 * time.Second) // fake time
	return true
}

// Catches: a get that counts as two, and a Get that begins a renewal.
func TestGetsWithRenewal(t *testing.T) {
	inRig(t, near.Options[string, string]{Cache: cache.Options[string, string]{RefreshAfter: time.Minute}}, func(t *testing.T, r *rig) {
		r.gets("none")
		r.store("k", "v", 0)
		r.gets("k")
		r.gets("k")
		if s := r.Stats(); s.Hits != 1 || s.Misses != 2 {
			t.Errorf("%d hits and %d misses, want 1 and 2", s.Hits, s.Misses)
		}
	})
}

// Catches: a loader that is not told the old value, and whose Unchanged stores none.
func TestUnchanged(t *testing.T) {
	load := func(_ context.Context, _ string, l *cache.Load[string]) (string, error) {
		l.Unchanged = l.HasOld && l.Old == "old"
		return "ignored", nil
	}
	options := cache.Options[string, string]{RefreshAfter: time.Minute, Load: load}
	inRig(t, near.Options[string, string]{MaxLag: time.Hour, Cache: options}, func(t *testing.T, r *rig) {
		r.store("k", "old", 0)
		for range 2 {
			if got, err := r.Fetch(t.Context(), "k"); got != "old" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			synctest.Wait()
			r.server.drop("k")
			time.Sleep(time.Minute)
		}
		if got, err := r.Fetch(t.Context(), "k"); got != "old" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		synctest.Wait()
		if got := string(r.server.items["k"].Value); got != `"old"` {
			t.Errorf("the store has %q", got)
		}
	})
}

// Catches: a Local whose Fetch or FetchMany serves what is not vouched for, or says how it keeps an error.
func TestLocalFetch(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			source, loads := new(hand), 0
			local, err := near.NewLocal(source, near.LocalOptions[string, string]{Cache: cache.Options[string, string]{
				Load: func(_ context.Context, key string, _ *cache.Load[string]) (string, error) {
					loads++
					if key == "fails" {
						return "", near.KeepError(errOfLoad, -1)
					}
					return "v", nil
				},
			}})
			must(t, err)
			defer local.Close(context.Background())
			synctest.Wait()
			source.ChangedAll()
			source.vouch()
			for _, want := range []int{1, 1, 2} {
				if value, err := fetchOne(t.Context(), local, many, "k"); value != "v" || err != nil || loads != want {
					t.Errorf("many %v: %q, %v with %d loads, want %d", many, value, err, loads, want)
				}
				time.Sleep(501 * time.Millisecond) // the third is past MaxLag
			}
			if _, err := fetchOne(t.Context(), local, many, "fails"); err != errOfLoad {
				t.Errorf("many %v: %#v", many, err)
			}
			ctx := t.Context()
			source.vouch()
			if n := testing.AllocsPerRun(10, func() { _, _ = local.Fetch(ctx, "k") }); n != 0 {
				t.Errorf("a hit makes %v allocations", n)
			}
		})
	}
}

// Catches: HotKeys that knows nothing of hits.
func TestHotKeys(t *testing.T) {
	inRig(t, near.Options[string, string]{Cache: cache.Options[string, string]{HotKeys: 3, Load: loadOne}}, func(t *testing.T, r *rig) {
		for range 1000 {
			_, err := r.Fetch(t.Context(), "hot")
			must(t, err)
		}
		if keys := r.HotKeys(); len(keys) == 0 || keys[0].Key != "hot" {
			t.Errorf("%v", keys)
		}
	})
}
