package near_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// TestAway checks what a Take does while the store returns errors.
func TestAway(t *testing.T) {
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		r.server.fail = func(string) bool { return true }
		for range 2 {
			r.want("Bypass", "fetched", 0, 1)
			time.Sleep(time.Second - 1)
			r.want("Bypass, until MaxLag", "fetched", 0, 0)
			time.Sleep(time.Nanosecond)
			r.hand.vouch()
		}
		if s := r.Stats().Near; s.Bypasses != 2 || s.StoreErrors != 2 || s.Fetches != 0 {
			t.Errorf("%+v", s)
		}
		if _, _, err := r.Get(t.Context(), "k"); !errors.Is(err, near.ErrStore) || !errors.Is(err, errServer) {
			t.Errorf("Get: %v", err)
		}
	})
	inRig(t, near.Options[string, string]{Away: near.Fail}, func(t *testing.T, r *rig) {
		r.server.fail = func(string) bool { return true }
		if _, err := r.Take(t.Context(), "k", r.fetch); !errors.Is(err, near.ErrStore) || r.fetched > 0 {
			t.Errorf("Fail: %v, %d fetches", err, r.fetched)
		}
	})
}

// TestTimeout checks that a store that hangs counts as away after Timeout, and not because
// a caller leaves before.
func TestTimeout(t *testing.T) {
	inRig(t, near.Options[string, string]{Timeout: 200 * time.Millisecond}, func(t *testing.T, r *rig) {
		r.server.delay = func() time.Duration { return time.Hour }
		began := time.Now()
		r.want("hangs", "fetched", 0, 1)
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if err := r.takeFor(100*time.Millisecond, "other"); !errors.Is(err, context.DeadlineExceeded) || r.fetched != 1 {
			t.Errorf("%v, %d fetches", err, r.fetched)
		}
		synctest.Wait()
		if n := r.Stats().Near.StoreErrors; n != 1 {
			t.Errorf("%d errors of the store", n)
		}
	})
}

// TestServeOn checks that without a store values in memory are served for ServeOn after
// they were vouched for, and not with one.
func TestServeOn(t *testing.T) {
	inRig(t, near.Options[string, string]{ServeOn: 10 * time.Second}, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		start := time.Now()
		r.hand.Lost(errServer)
		r.store("k", "2", 0)
		time.Sleep(time.Second + 1)
		r.want("lost, and the store is there", "2", 1, 0)
		r.server.fail = func(string) bool { return true }
		time.Sleep(time.Until(start.Add(10 * time.Second)))
		r.want("both are away", "1", 0, 0)
		if value, ok, err := r.Get(t.Context(), "k"); value != "1" || !ok || err != nil {
			t.Errorf("Get = %q, %v, %v", value, ok, err)
		}
		for range 2 { // the first must leave it there
			values, err := r.TakeMany(t.Context(), []string{"k"}, func(context.Context, []string) (map[string]string, error) {
				return nil, errServer
			})
			if values["k"] != "1" || err != nil {
				t.Errorf("TakeMany = %v, %v", values, err)
			}
		}
		time.Sleep(time.Nanosecond)
		r.want("for longer", "fetched", 0, 1)
		if s := r.Stats().Near; s.ServedOn != 4 || s.Bypasses != 1 || s.Lag != 10*time.Second+1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestStandInOfAnEarlierCall checks that a caller gets no value that has stood in for an earlier one, whose call still
// waits for other keys.
func TestStandInOfAnEarlierCall(t *testing.T) {
	inRig(t, near.Options[string, string]{ServeOn: 2 * time.Second}, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		r.hand.Lost(errServer)
		r.server.fail = func(string) bool { return true }
		time.Sleep(1900 * time.Millisecond)
		go r.TakeMany(t.Context(), []string{"k", "other"}, func(context.Context, []string) (map[string]string, error) {
			time.Sleep(10 * time.Second)
			return nil, nil
		})
		time.Sleep(time.Second / 2)
		r.want("with a TakeMany under way", "fetched", 0, 1)
		time.Sleep(10 * time.Second)
	})
}

// TestCheckClock checks that an instance that was stopped serves nothing old, and lets nobody join a load that began too
// long ago, before its timers run.
func TestCheckClock(t *testing.T) {
	for _, checks := range []bool{true, false} {
		inRig(t, near.Options[string, string]{CheckClock: checks}, func(t *testing.T, r *rig) {
			r.store("k", "1", 0)
			r.want("at first", "1", 1, 0)
			r.want("from memory", "1", 0, 0)
			r.Sleep(time.Second + 1)
			if checks {
				r.want("after a stop", "1", 1, 0)
			} else {
				r.want("after a stop", "1", 0, 0)
			}
			time.Sleep(2 * time.Second) // nothing is confirmed any more
			r.server.mu.Lock()
			r.server.drop("k")
			r.server.mu.Unlock()
			r.hand.Changed("k")
			r.server.fail = func(string) bool { return true }
			slept := make(chan struct{})
			go r.Take(t.Context(), "k", func(context.Context) (string, error) {
				<-slept
				time.Sleep(time.Second / 2)
				return "old", nil
			})
			synctest.Wait()
			r.Sleep(time.Second)
			close(slept)
			if checks {
				r.want("during a load", "fetched", 0, 1)
			} else {
				r.want("during a load", "old", 0, 0)
			}
			time.Sleep(time.Second)
		})
	}
	_, err := near.New[string, string](newServer(), &hand{}, near.Options[string, string]{CheckClock: true, MaxLag: 11 * time.Second})
	if !errors.Is(err, cache.ErrArgument) {
		t.Errorf("a long MaxLag: %v", err)
	}
}

// TestNotFound checks that a "not found" is kept in the store and in memory, for
// NotFoundExpire, and ends with a change as a value does.
func TestNotFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gone := errors.New("no rows")
		r := newRig(t, near.Options[string, string]{NotFound: gone, NotFoundExpire: time.Second, MaxLag: time.Minute, Jitter: 0.5})
		r.err = gone
		r.wants("at first", "", gone, 1, 1)
		r.wants("again", "", gone, 0, 0)
		if _, ok, err := r.Get(t.Context(), "k"); ok || err != nil {
			t.Errorf("Get: %v, %v", ok, err)
		}
		r.hand.Changed("k")
		r.wants("changed", "", gone, 1, 0)
		r.wants("kept again", "", gone, 0, 0)
		time.Sleep(1500 * time.Millisecond)
		r.wants("ended, here and there", "", gone, 1, 1)
		r.err = nil
		r.Set(t.Context(), "k", "v")
		r.want("set", "v", 1, 0)

		r.err = errors.New("failed")
		r.Del(t.Context(), "k")
		for range 2 {
			r.wants("another error", "", r.err, 1, 1)
		}
	})
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) { // NotFoundExpire 0
		r.err = near.ErrNotFound
		for range 2 {
			r.wants("not kept", "", near.ErrNotFound, 1, 1)
		}
	})
}

// TestJoinsAGet lets all that load join the load of a Get that finds nothing or fails, as it does not
// fetch: they go round again.
func TestJoinsAGet(t *testing.T) {
	for name, prepare := range map[string]func(r *rig){
		"missing":    func(*rig) {},
		"store away": func(r *rig) { r.server.fail = func(string) bool { return true } },
		"not JSON":   func(r *rig) { r.server.put("k", near.Item{State: near.Found, Value: []byte("{")}) },
	} {
		for method, take := range ways {
			inLoadingRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
				prepare(r)
				r.server.delay = func() time.Duration { return time.Millisecond }
				go r.Get(t.Context(), "k")
				synctest.Wait()
				if value, err := take(r); value != "fetched" || err != nil {
					t.Errorf("%s, %s: %q, %v", name, method, value, err)
				}
			})
		}
	}
}

// TestBrokenKey: one key of another type costs the others nothing, is removed, and loaded anew.
func TestBrokenKey(t *testing.T) {
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		r.server.put("broken", near.Item{State: near.Broken})
		for i := range 2 {
			values, err := r.TakeMany(t.Context(), []string{"a", "broken", "b"}, r.fetchMany)
			if err != nil || len(values) != 3 || r.fetched != 3 {
				t.Errorf("round %d: %v, %v after %d fetches", i, values, err, r.fetched)
			}
		}
		if s := r.Stats().Near; s.StoreErrors != 0 || r.server.items["broken"].State != near.Found {
			t.Errorf("%d errors of the store, which has %+v", s.StoreErrors, r.server.items["broken"])
		}
	})
}

// TestForeignLease: a lease that others have taken for a day, or for ever, is waited for as long as
// one of this cache lasts, also for a key that cannot exist.
func TestForeignLease(t *testing.T) {
	for _, mayExist := range []bool{true, false} {
		for _, ttl := range []time.Duration{0, 24 * time.Hour} {
			inRig(t, near.Options[string, string]{Lease: 2 * time.Second, MayExist: func(string) bool { return mayExist }}, func(t *testing.T, r *rig) {
				r.server.put("k", near.Item{State: near.Leased, Token: "foreign", TTL: ttl})
				began := time.Now()
				if value, err := r.Take(t.Context(), "k", r.fetch); value != "fetched" || err != nil || time.Since(began) != 2*time.Second { // fake time
					t.Errorf("may exist: %v, TTL %v: %q, %v after %v", mayExist, ttl, value, err, time.Since(began))
				}
			})
		}
	}
}

// TestTextUsesTheCache: the functions of the program are called without a lock.
func TestTextUsesTheCache(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *near.Cache[string, string]
		called := 0
		text := near.Text[string]{
			String: func(key string) string {
				if c != nil && key == "k" {
					called++
					c.Get(context.Background(), "another")
				}
				return key
			},
			Parse: func(text string) (string, error) { return text, nil },
		}
		r := newRig(t, near.Options[string, string]{ServeOn: time.Minute, Keys: text})
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		c = r.Cache
		r.hand.Lost(errServer)
		time.Sleep(2 * time.Second)
		r.Get(t.Context(), "k") // the time of memory is over
		if c = nil; called == 0 {
			t.Error("the function was not called")
		}
	})
}

// TestCodecErrors checks that a value that is not JSON is loaded anew, once, and that a string that
// JSON would change is an error.
func TestCodecErrors(t *testing.T) {
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		r.server.put("k", near.Item{State: near.Found, Value: []byte("{")})
		r.want("not JSON", "fetched", 2, 1)
		list := near.JSON[[]any]()
		if _, err := list.Encode([]any{1, "\xff"}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("a string that is not UTF-8: %v", err)
		}
		if data, err := list.Encode([]any{1, "\ufffd"}); err != nil || string(data) != `[1,"\ufffd"]` && string(data) != "[1,\"\ufffd\"]" {
			t.Errorf("U+FFFD: %s, %v", data, err)
		}
	})
}

// TestOptions checks that the error of New names everything that is wrong.
func TestOptions(t *testing.T) {
	_, err := near.New[string, string](nil, nil, near.Options[string, string]{
		Expire: 5, LocalExpire: 5, NotFoundExpire: -1, ServeOn: 5, Timeout: 5, Lease: 5, MaxLag: 5, Away: 9, Limit: -1,
		Values: near.Codec[string]{Encode: near.JSON[string]().Encode},
	})
	if !errors.Is(err, cache.ErrArgument) {
		t.Errorf("%v", err)
	}
	has := func(words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(fmt.Sprint(err), word) {
				t.Errorf("%v\nlacks %q", err, word)
			}
		}
	}
	has("store is nil", "near: Expire is 5ns", "LocalExpire is 5ns", "NotFoundExpire is -1ns", "ServeOn is", "Timeout is", "Lease is", "Away is 9", "Values has one")
	_, err = near.New[string, string]((*server)(nil), (*hand)(nil), near.Options[string, string]{})
	has("store is nil")
	_, err = near.NewLocal[struct{ A int }, string](nil, near.LocalOptions[struct{ A int }, string]{
		MaxLag: 5, Cache: cache.Options[struct{ A int }, string]{
			OnRemove: func(cache.Event[struct{ A int }, string]) {}, Negative: func(error) time.Duration { return 0 }, Grace: time.Minute, Workers: 1,
		},
	})
	has("source is nil", "MaxLag is 5ns", "have no text", "OnRemove is set", "Negative is set", "Grace or Patience is set", "Workers is 1")
	weigh := func(string, string) uint32 { return 1 }
	_, err = near.New(newServer(), new(hand), near.Options[string, string]{
		Name: "a", Limit: 1, MaxWeight: 1, Weigh: weigh, Policy: cache.Adaptive, Jitter: 0.1, MaxLoads: 1, LocalExpire: time.Hour,
		Cache: cache.Options[string, string]{
			Name: "a", Limit: 1, MaxWeight: 1, Weigh: weigh, Policy: cache.Adaptive, Jitter: 0.1, MaxLoads: 1, Expire: time.Hour, Schema: "v1",
			ExpireBy: func(string, string) time.Duration { return 0 },
		},
	})
	has("Name is given twice", "Limit is given", "MaxWeight is given", "Weigh is given", "Policy is given", "Jitter is given", "MaxLoads is given", "LocalExpire, which is Cache.Expire, is given", "Cache.Schema", "Cache.ExpireBy")
	for what, o := range map[string]near.Options[string, string]{
		"-1": {Limit: -1}, "NotFoundLocal": {NotFoundLocal: true}, "uncovered:": {Prefix: "uncovered:"}, "MaxLoads": {MaxLoads: -1},
		`Schema is "v01"`: {Schema: "v01"}, `Schema is "a~"`: {Schema: "a~"}, `Schema is "1234567890123456789"`: {Schema: "1234567890123456789"},
		"ServeOn is 500ms, below MaxLag, 1s": {ServeOn: 500 * time.Millisecond},
	} {
		if _, err = near.New(newServer(), new(hand), o); !errors.Is(err, cache.ErrArgument) {
			t.Errorf("%s: %v", what, err)
		}
		has(what)
	}
}

// TestClose checks that Close ends the watch, and that the cache then works without
// memory.
func TestClose(t *testing.T) {
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		r.want("open", "1", 1, 0)
		for range 2 {
			must(t, r.Close(t.Context()))
		}
		r.hand.vouch()
		for range 2 {
			r.want("closed", "1", 1, 0)
		}
	})
}

// TestLimit checks that memory has no more entries than Limit, and no more weight than
// MaxWeight.
func TestLimit(t *testing.T) {
	weigh := func(_, value string) uint32 { return uint32(len(value)) }
	for _, o := range []near.Options[string, string]{
		{MaxWeight: 10, Weigh: weigh}, {Cache: cache.Options[string, string]{MaxWeight: 10, Weigh: weigh}},
		{Limit: 1}, {Cache: cache.Options[string, string]{Limit: 1}},
	} {
		inRig(t, o, func(t *testing.T, r *rig) {
			r.store("k", "123456", 0)
			r.store("other", "123456", 0)
			r.Get(t.Context(), "k")
			r.Get(t.Context(), "other")
			r.want("evicted", "123456", 1, 0)
		})
	}
}

// TestHitDoesNotAllocate checks that a hit allocates nothing, also if fetch uses variables
// of the caller.
func TestHitDoesNotAllocate(t *testing.T) {
	inRig(t, near.Options[string, string]{Cache: cache.Options[string, string]{Load: loadOne}}, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		ctx := t.Context()
		if n := testing.AllocsPerRun(100, func() { r.Get(ctx, "k") }); n != 0 {
			t.Errorf("Get: %v allocations", n)
		}
		if n := testing.AllocsPerRun(100, func() { r.Fetch(ctx, "k") }); n != 0 {
			t.Errorf("Fetch: %v allocations", n)
		}
		fetch := r.fetch
		if n := testing.AllocsPerRun(100, func() { r.Take(ctx, "k", fetch) }); n != 0 {
			t.Errorf("Take: %v allocations", n)
		}
	})
}

// TestBreaker checks that calls of a store that hangs wait three times, and then decide at once,
// while one probe at a time asks the store; and that reads go on when a probe has an answer.
func TestBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const timeout = 500 * time.Millisecond
		r := newRig(t, near.Options[string, string]{Timeout: timeout, MaxLag: time.Second})
		r.server.delay = func() time.Duration { return time.Hour }
		take := func(i int) (took time.Duration) {
			began := time.Now()
			if value, err := r.Take(t.Context(), strconv.Itoa(i), r.fetch); value != "fetched" || err != nil {
				t.Errorf("%q, %v", value, err)
			}
			return time.Since(began)
		}
		for i := range 3 {
			if took := take(i); took != timeout {
				t.Errorf("call %d: %v", i, took)
			}
		}
		for i := range 100 {
			if took := take(3 + i); took != 0 { // fake time
				t.Errorf("call %d: %v", 3+i, took)
			}
			time.Sleep(50 * time.Millisecond)
		}
		s := r.Stats().Near
		if s.Bypasses != 103 || s.Unasked != 100 || s.StoreErrors < 3+5 || s.StoreErrors > 3+7 { // 5 s of probes, each with a pause
			t.Errorf("%+v", s)
		}
		if err := r.Set(t.Context(), "k", "1"); !errors.Is(err, near.ErrStore) || r.Stats().Near.Unasked != s.Unasked {
			t.Errorf("Set, which is always tried: %v", err)
		}
		r.server.delay = nil
		r.store("there", "2", 0)
		read := func() bool {
			time.Sleep(time.Second)
			value, _, err := r.Get(t.Context(), "there")
			return value == "2" && err == nil
		}
		if read(); !read() { // the first begins a probe
			t.Error("the store is not read when it is back")
		}
	})
}

// A pair is a store of two servers. The second has the keys that begin with b.
type pair [2]*server

func (p pair) Server(key string) int { return strings.Count(key[:1], "b") }

func (p pair) of(keys []string) *server {
	for _, key := range keys {
		if p.Server(key) != p.Server(keys[0]) {
			panic("keys of two servers in one call")
		}
	}
	return p[p.Server(keys[0])]
}

func (p pair) Get(ctx context.Context, keys ...string) ([]near.Item, error) {
	return p.of(keys).Get(ctx, keys...)
}
func (p pair) Set(ctx context.Context, key string, item near.Item) error {
	return p.of([]string{key}).Set(ctx, key, item)
}
func (p pair) Del(ctx context.Context, keys ...string) error { return p.of(keys).Del(ctx, keys...) }

// TestOneServerOfTwo checks that a server that hangs costs the keys of the other nothing: they are
// read, together with those of the first too, and removed.
func TestOneServerOfTwo(t *testing.T) {
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		other := newServer()
		c := r.join(pair{r.server, other}, near.Options[string, string]{RetryDel: -1, Timeout: 500 * time.Millisecond, MaxLag: time.Second})
		r.store("a1", "1", 0)
		r.store("a2", "2", 0)
		other.delay = func() time.Duration { return time.Hour }
		for i := range 5 {
			if value, err := c.Take(t.Context(), "b"+strconv.Itoa(i), r.fetch); value != "fetched" || err != nil {
				t.Errorf("%q, %v", value, err)
			}
		}
		began := time.Now()
		values, err := c.TakeMany(t.Context(), []string{"a1", "bb", "a2"}, r.fetchMany)
		if values["a1"] != "1" || values["a2"] != "2" || values["bb"] != "fetched" || err != nil || r.fetched != 6 {
			t.Errorf("TakeMany: %v, %v; %d fetches", values, err, r.fetched)
		}
		if took, reads := time.Since(began), r.server.called("get"); took != 0 || reads != 1 { // fake time
			t.Errorf("TakeMany: %v, %d reads", took, reads)
		}
		if err := c.Del(t.Context(), "b0", "a1"); !errors.Is(err, near.ErrStore) || r.server.called("del") != 1 {
			t.Errorf("Del: %v", err)
		}
		if s := c.Stats().Near; s.Unasked != 3 {
			t.Errorf("%+v", s)
		}
		synctest.Wait() // a probe has read the delay
		other.delay = nil
		for i := range 3 {
			time.Sleep(time.Second)
			c.Take(t.Context(), "b"+strconv.Itoa(i), r.fetch) // the first begins a probe
			synctest.Wait()
			if reads := other.called("get"); reads != i+1 {
				t.Errorf("%d reads after %d s", reads, i+1)
			}
		}
		synctest.Wait()
		other.delay = func() time.Duration { return time.Hour }
		for i := range 5 {
			c.Take(t.Context(), "b of the last "+strconv.Itoa(i), r.fetch)
		}
		must(t, c.Close(t.Context())) // during a probe
	})
}

// TestOutage checks that while the source and the store are away the database gets one load for
// a key in each MaxLag; that a caller leaves when its context ends; that failures are counted;
// and that Close waits for loads.
func TestOutage(t *testing.T) {
	inRig(t, near.Options[string, string]{MaxLag: time.Second, NotFoundExpire: time.Millisecond}, func(t *testing.T, r *rig) {
		r.hand.Lost(errServer)
		r.server.fail = func(string) bool { return true }
		time.Sleep(time.Second + 1)
		for key, err := range map[string]error{"k": nil, "fails": errServer, "has none": near.ErrNotFound} {
			r.fetched, r.err = 0, err
			for range 100 {
				if _, got := r.Take(t.Context(), key, r.fetch); got != err {
					t.Errorf("%s: %v, want %v", key, got, err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if r.fetched != 10 {
				t.Errorf("%s: %d fetches in ten times MaxLag", key, r.fetched)
			}
			for _, kept := range []bool{false, true} {
				values, got := r.TakeMany(t.Context(), []string{key + " of many"}, r.fetchMany)
				want, n := err, 0
				switch err {
				case nil:
					n = 1
				case near.ErrNotFound:
					want = nil
				}
				if got != want || len(values) != n || r.fetched != 11 {
					t.Errorf("%s, kept %v: TakeMany = %v, %v, %d fetches", key, kept, values, got, r.fetched-10)
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // fake time
		defer cancel()
		began, ended := time.Now(), false
		_, err := r.Take(ctx, "slow", func(context.Context) (string, error) {
			time.Sleep(2 * time.Second)
			ended = true
			return "", errServer
		})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 100*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
		if must(t, r.Close(t.Context())); !ended {
			t.Error("Close does not wait for a load")
		}
		if n := r.Stats().Loads.Failed.Count(); n != 1+10+1 {
			t.Errorf("%d loads failed", n)
		}
	})
	inRig(t, near.Options[string, string]{MaxLoads: 2}, func(t *testing.T, r *rig) {
		r.server.fail = func(string) bool { return true }
		var running, most atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				_, err := r.Take(t.Context(), strconv.Itoa(i), func(context.Context) (string, error) {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					running.Add(-1)
					return "", nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		if all.Wait(); most.Load() != 2 {
			t.Errorf("%d fetches at once, want 2", most.Load())
		}
	})
}

// TestReadOnly checks that a store that refuses writes is read, and that what it does not have
// is fetched at once, also beside a lease that nobody can end, and kept for MaxLag.
func TestReadOnly(t *testing.T) {
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		r.store("there", "1", 0)
		r.server.put("leased", near.Item{State: near.Leased, Token: "of another", TTL: time.Hour})
		r.server.set(&r.server.full, true)
		for range 5 {
			if err := r.Set(t.Context(), "k", "1"); !errors.Is(err, near.ErrReadOnly) {
				t.Errorf("Set: %v", err)
			}
		}
		for range 5 {
			if value, err := r.Take(t.Context(), "alone", r.fetch); value != "fetched" || err != nil {
				t.Errorf("%q, %v", value, err)
			}
			got, err := r.TakeMany(t.Context(), []string{"missing", "there", "leased"}, func(_ context.Context, missing []string) (map[string]string, error) {
				r.fetched++
				return map[string]string{"missing": "2", "leased": "3"}, nil
			})
			if want := map[string]string{"there": "1", "missing": "2", "leased": "3"}; !maps.Equal(got, want) || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		}
		if s := r.Stats().Near; r.fetched != 2 || s.Bypasses != 0 || s.Waits != 0 || s.Unasked != 0 {
			t.Errorf("%d fetches, %+v", r.fetched, s)
		}
	})
}

// TestUnknownKeys checks that keys that do not exist fill no store: with NotFoundLocal they are
// leased and not stored, and those that cannot exist are not even leased; nobody hears of these.
func TestUnknownKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := near.Options[string, string]{NotFoundExpire: time.Hour, NotFoundLocal: true, MayExist: func(key string) bool { return len(key) == 1 }}
		r := newRig(t, o)
		r.err = near.ErrNotFound
		var fetched int
		ask := func() {
			t.Helper()
			for _, key := range []string{"k", "not a key"} {
				if _, err := r.Take(t.Context(), key, r.fetch); err != near.ErrNotFound {
					t.Errorf("%s: %v", key, err)
				}
			}
			got, err := r.TakeMany(t.Context(), []string{"k", "not a key", "nor this", "l"}, func(_ context.Context, missing []string) (map[string]string, error) {
				fetched += len(missing)
				return nil, nil
			})
			if len(got) > 0 || err != nil || len(r.server.items) > 0 {
				t.Errorf("%v, %v, and the store has %v", got, err, r.server.items)
			}
		}
		ask()
		ask()
		if n := r.server.called("lease"); r.fetched != 2 || fetched != 2 || n != 2 || r.server.tokens != 2 {
			t.Errorf("%d and %d fetches, %d leases on %d keys", r.fetched, fetched, n, r.server.tokens)
		}
		time.Sleep(time.Second)
		r.hand.vouch()
		if r.Take(t.Context(), "k", r.fetch); r.fetched != 3 {
			t.Error("it is kept for longer than MaxLag, though nobody would tell of the key")
		}
	})
}

// TestClone checks that each caller gets a value of its own.
func TestClone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, err := near.New(newServer(), new(hand), near.Options[string, []int]{
			Clone: slices.Clone[[]int],
			Cache: cache.Options[string, []int]{Load: func(context.Context, string, *cache.Load[[]int]) ([]int, error) { return []int{1}, nil }},
		})
		must(t, err)
		defer c.Close(context.Background())
		spoil := func(what string, value []int, err error) {
			t.Helper()
			if len(value) != 1 || value[0] != 1 || err != nil {
				t.Fatalf("%s: %v, %v", what, value, err)
			}
			value[0] = 2
		}
		for range 2 {
			value, err := c.Take(t.Context(), "k", func(context.Context) ([]int, error) { return []int{1}, nil })
			spoil("Take", value, err)
			value, _, err = c.Get(t.Context(), "k")
			spoil("Get", value, err)
			values, err := c.TakeMany(t.Context(), []string{"k"}, noneOfInts)
			spoil("TakeMany", values["k"], err)
			value, err = c.Fetch(t.Context(), "k")
			spoil("Fetch", value, err)
			values, err = c.FetchMany(t.Context(), []string{"k"})
			spoil("FetchMany", values["k"], err)
		}
	})
}

func noneOfInts(context.Context, []string) (map[string][]int, error) { return nil, nil }

// TestBreakerOfShortContexts checks that a store counts as silent also if no caller waits for
// as long as Timeout.
func TestBreakerOfShortContexts(t *testing.T) {
	inRig(t, near.Options[string, string]{Timeout: time.Hour}, func(t *testing.T, r *rig) {
		r.server.delay = func() time.Duration { return 24 * time.Hour }
		for _, key := range []string{"1", "2", "3"} {
			if err := r.takeFor(100*time.Millisecond, key); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", key, err)
			}
			synctest.Wait() // the load ends after its callers
		}
		if err := r.takeFor(100*time.Millisecond, "4"); err != nil || r.fetched != 1 {
			t.Errorf("then: %v, %d fetches", err, r.fetched)
		}
	})
	// Deadlines that no server keeps say nothing.
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		r.server.delay = func() time.Duration { return 4 * time.Millisecond }
		for i := range 100 {
			if err := r.takeFor(2*time.Millisecond, strconv.Itoa(i)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if i%10 == 0 {
				r.hand.Changed("k")
				r.server.Del(t.Context(), "k")
				r.want("without a deadline", "fetched", 1, 1)
			}
		}
		if s := r.Stats().Near; s.Unasked != 0 || s.Bypasses != 0 {
			t.Errorf("%+v", s)
		}
	})
	// But if nobody gets an answer, that says something: without an answer before, or with a slow one.
	for name, test := range map[string]struct {
		answered, deadline time.Duration
		calls              int
	}{"never answered": {0, 2 * time.Millisecond, 100}, "slow once": {5 * time.Second, 600 * time.Millisecond, 5}} {
		inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
			r.server.delay = func() time.Duration { return test.answered }
			if test.answered > 0 {
				r.want(name, "fetched", 1, 1)
			}
			r.server.delay = func() time.Duration { return 24 * time.Hour }
			r.fetched = 0
			for i := 0; i < test.calls && r.fetched == 0; i++ {
				_ = r.takeFor(test.deadline, "silent "+strconv.Itoa(i))
				synctest.Wait()
			}
			if r.fetched == 0 {
				t.Errorf("%s: callers go on waiting for a silent store", name)
			}
			r.server.delay = nil
		})
	}
}

// TestForgottenStandIns checks that what is removed while memory is emptied does not stand in.
func TestForgottenStandIns(t *testing.T) {
	for range 20 {
		inRig(t, near.Options[string, string]{ServeOn: time.Hour}, func(t *testing.T, r *rig) {
			var keys []string
			for i := range 2000 {
				keys = append(keys, strconv.Itoa(i))
				r.store(keys[i], "old", 0)
				r.Get(t.Context(), keys[i])
			}
			time.Sleep(time.Second + 1)
			var both sync.WaitGroup
			both.Go(func() { r.Get(t.Context(), "k") }) // empties memory
			for _, key := range keys {
				must(t, r.Del(t.Context(), key))
			}
			both.Wait()
			r.server.fail = func(string) bool { return true }
			for _, key := range keys {
				if value, ok, _ := r.Get(t.Context(), key); ok {
					t.Fatalf("%s = %q, which was removed", key, value)
				}
			}
		})
	}
}
