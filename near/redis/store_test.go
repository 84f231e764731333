package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
	"pgregory.net/rapid"
)

func found(value string) near.Item { return near.Item{State: near.Found, Value: []byte(value)} }

// get reads one key.
func get(t testing.TB, s near.Store, key string) near.Item {
	t.Helper()
	items, err := s.Get(t.Context(), key)
	check(t, err)
	return items[0]
}

// Catches: a value that comes back changed, also one that looks like a mark of the store.
func TestStoreKeepsEveryByte(t *testing.T) {
	r := open(t, redis.Options{}, server(t).Addr)
	values := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.StringN(0, 4, -1), func(s string) []byte { return []byte("\x00near\x00" + s) }),
		rapid.SampledFrom([][]byte{nil, []byte("\x00near\x00-"), []byte("\x00near\x00?token"), []byte("\x00near\x00=\x00near\x00"), bytes.Repeat([]byte("x"), 1<<20)}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		key, value := "user:"+rapid.StringN(0, 20, -1).Draw(rt, "key"), values.Draw(rt, "value")
		check(t, r.Set(t.Context(), key, near.Item{State: near.Found, Value: value}))
		if got := get(t, r, key); got.State != near.Found || !bytes.Equal(got.Value, value) || got.TTL != 0 {
			rt.Errorf("%q: %+v", key, got)
		}
	})
}

// Catches: a batch in another order, a state that is mixed up, a TTL that is not told.
func TestStoreAnswers(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	check(t, r.Set(ctx, "user:1", near.Item{State: near.Found, Value: []byte("one"), TTL: time.Hour}))
	check(t, r.Set(ctx, "user:2", near.Item{State: near.Absent, TTL: 2 * time.Hour}))
	do(t, s, "SET", "user:foreign", "raw")
	if _, err := r.Lease(ctx, time.Hour, "user:leased"); err != nil {
		t.Fatal(err)
	}
	items, err := r.Get(ctx, "user:none", "user:2", "user:foreign", "user:1", "user:leased")
	check(t, err)
	for i, want := range []struct {
		state near.State
		value string
		ttl   time.Duration
	}{{near.Missing, "", 0}, {near.Absent, "", 2 * time.Hour}, {near.Found, "raw", 0}, {near.Found, "one", time.Hour}, {near.Leased, "", time.Hour}} {
		if got := items[i]; got.State != want.state || string(got.Value) != want.value || got.TTL > want.ttl || got.TTL < want.ttl*9/10 {
			t.Errorf("item %d is %+v, want %+v", i, got, want)
		}
	}
	check(t, r.Del(ctx, "user:1", "user:2", "user:none"))
	if got := get(t, r, "user:1"); got.State != near.Missing {
		t.Errorf("after Del: %+v", got)
	}
	do(t, s, "HSET", "user:hash", "f", "1")
	if got := get(t, r, "user:hash"); got.State != near.Broken {
		t.Errorf("a hash is %+v", got)
	}
	items, err = r.Lease(ctx, time.Hour, "user:fresh", "user:hash")
	check(t, err)
	if items[0].Token == "" || items[1].State != near.Broken {
		t.Errorf("beside a hash: %+v", items)
	}
	if filled, err := r.Fill(ctx, "user:hash", "token", found("v")); filled || err != nil {
		t.Errorf("Fill of a hash: %v, %v", filled, err)
	}
	check(t, r.Set(ctx, "user:hash", found("v")))
	if _, err := r.Lease(ctx, 0, "user:1"); err == nil {
		t.Error("a lease of no time is no error")
	}
	do(t, s, "SCRIPT", "FLUSH") // as after a restart
	if items, err := r.Lease(ctx, time.Minute, "user:a", "user:foreign"); err != nil || items[0].Token == "" || items[1].State != near.Found {
		t.Errorf("after SCRIPT FLUSH: %+v, %v", items, err)
	}
}

// TestLongTimes checks that the longest time is a long time to Redis: in the options, in what
// is written and leased, and in what Redis answers.
func TestLongTimes(t *testing.T) {
	const long, century = math.MaxInt64, 100 * 365 * 24 * time.Hour
	for _, channel := range []string{"", "changes"} {
		s := server(t)
		r, err := redis.New(t.Context(), redis.Options{
			Client:   rueidis.ClientOption{InitAddress: []string{s.Addr}, ConnWriteTimeout: long, Dialer: net.Dialer{Timeout: long}, ConnLifetime: long},
			Prefixes: []string{"user:"}, Channel: channel,
		})
		check(t, err)
		t.Cleanup(r.Close)
		w := watch(t, r, long)
		w.tellsKey(t, "user:1", func() {
			check(t, r.Set(t.Context(), "user:1", near.Item{State: near.Found, Value: []byte("one"), TTL: long}))
		})
		items, err := r.Lease(t.Context(), long, "user:2")
		check(t, err)
		_, err = r.Lease(t.Context(), long, "user:3")
		check(t, err)
		if filled, err := r.Fill(t.Context(), "user:2", items[0].Token, near.Item{State: near.Absent, TTL: long}); err != nil || !filled {
			t.Errorf("Fill: %v, %v", filled, err)
		}
		do(t, s, "SET", "user:4", "four")
		do(t, s, "PEXPIREAT", "user:4", strconv.FormatInt(math.MaxInt64, 10))
		for _, key := range []string{"user:1", "user:2", "user:3", "user:4"} {
			if got := get(t, r, key); got.TTL < century {
				t.Errorf("%s: %+v", key, got)
			}
			leased, err := r.Lease(t.Context(), long, key)
			check(t, err)
			if leased[0].TTL < century {
				t.Errorf("Lease of %s: %+v", key, leased[0])
			}
		}
	}
}

// TestLeaseNobodyHolds: what a call takes whose caller leaves, or whose time is over, is released
// when the server answers.
func TestLeaseNobodyHolds(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	for name, within := range map[string]time.Duration{"paused": 50 * time.Millisecond, "cancelled": 100 * time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			keys, late := make([]string, 30), 0
			for n := range 10 {
				for i := range keys {
					keys[i] = fmt.Sprintf("user:%s:%d:%d", name, n, i)
				}
				if name == "paused" {
					check(t, s.Pause())
					time.AfterFunc(100*time.Millisecond, func() { _ = s.Resume() })
				}
				ctx, cancel := context.WithTimeout(t.Context(), within) // real time: it is to end too early
				items, err := r.Lease(ctx, time.Hour, keys...)
				if cancel(); err != nil {
					late++
				}
				for i, item := range items { // it was in time
					check(t, r.Release(t.Context(), keys[i], item.Token))
				}
			}
			if name == "paused" && late == 0 {
				t.Error("every call was in time")
			}
			await(t, "the end of the leases", func() (bool, any) {
				left := do(t, s, "DBSIZE")
				return left == "0", left
			})
		})
	}
}

// Catches: a fill after the lease was taken away, by any client; a lease for two; one that
// outlives its holder.
func TestLease(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	lease := func(key string, life time.Duration) string {
		t.Helper()
		items, err := r.Lease(ctx, life, key)
		check(t, err)
		if items[0].State != near.Missing || items[0].Token == "" {
			t.Fatalf("%s: %+v, want a lease", key, items[0])
		}
		return items[0].Token
	}
	for name, away := range map[string]func(key string){
		"Del":           func(key string) { check(t, r.Del(ctx, key)) },
		"Set":           func(key string) { check(t, r.Set(ctx, key, found("newer"))) },
		"foreign DEL":   func(key string) { do(t, s, "DEL", key) },
		"foreign SET":   func(key string) { do(t, s, "SET", key, "newer") },
		"another lease": func(key string) { do(t, s, "DEL", key); lease(key, time.Minute) },
		"FLUSHALL":      func(string) { do(t, s, "FLUSHALL") },
	} {
		key := "user:" + name
		token := lease(key, time.Minute)
		away(key)
		before := get(t, r, key)
		if filled, err := r.Fill(ctx, key, token, found("late")); err != nil || filled {
			t.Errorf("%s: a late fill is %v, %v", name, filled, err)
		}
		check(t, r.Release(ctx, key, token))
		if after := get(t, r, key); after.State != before.State || !bytes.Equal(after.Value, before.Value) {
			t.Errorf("%s: %+v became %+v", name, before, after)
		}
	}

	token := lease("user:1", time.Minute)
	if items, err := r.Lease(ctx, time.Minute, "user:1"); err != nil || items[0].State != near.Leased || items[0].Token != token {
		t.Errorf("a second lease is %+v, %v", items, err)
	}
	if filled, err := r.Fill(ctx, "user:1", token, near.Item{State: near.Absent, TTL: time.Minute}); err != nil || !filled {
		t.Errorf("a fill is %v, %v", filled, err)
	}
	if got := get(t, r, "user:1"); got.State != near.Absent || got.TTL == 0 {
		t.Errorf("filled: %+v", got)
	}
	check(t, r.Release(ctx, "user:2", lease("user:2", time.Minute)))
	token = lease("user:2", time.Minute)
	do(t, s, "PERSIST", "user:2")
	if lease("user:2", time.Minute) == token {
		t.Error("a lease without a TTL is not taken over")
	}
	check(t, r.Del(ctx, "user:2"))
	lease("user:2", time.Millisecond) // whose holder dies
	for get(t, r, "user:2").State == near.Leased {
		time.Sleep(time.Millisecond)
	}
	lease("user:2", time.Minute)
}

// Catches: a server that refuses writes and counts as one that cannot be asked.
func TestReadOnly(t *testing.T) {
	for name, deny := range map[string][]string{
		"full": {"CONFIG", "SET", "maxmemory", "1"}, "too few replicas": {"CONFIG", "SET", "min-replicas-to-write", "1"},
	} {
		s := server(t)
		r := open(t, redis.Options{}, s.Addr)
		ctx := t.Context()
		check(t, r.Set(ctx, "user:1", found("1")))
		items, err := r.Lease(ctx, time.Minute, "user:2")
		check(t, err)
		do(t, s, deny...)
		_, ofLease := r.Lease(ctx, time.Minute, "user:1", "user:3")
		_, ofFill := r.Fill(ctx, "user:2", items[0].Token, found("2"))
		for op, err := range map[string]error{"Set": r.Set(ctx, "user:1", found("2")), "Lease": ofLease, "Fill": ofFill} {
			if !errors.Is(err, near.ErrReadOnly) {
				t.Errorf("%s: %s: %v", name, op, err)
			}
		}
		if items, err := r.Lease(ctx, time.Minute, "user:1"); err != nil || items[0].State != near.Found || get(t, r, "user:1").State != near.Found {
			t.Errorf("%s: reading: %+v, %v", name, items, err)
		}
	}
}

// Catches: two holders of one lease.
func TestOneLeaseForAll(t *testing.T) {
	r := open(t, redis.Options{}, server(t).Addr)
	var holders atomic.Int32
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			items, err := r.Lease(t.Context(), time.Minute, "user:1")
			if err != nil {
				t.Error(err)
			} else if items[0].State == near.Missing {
				holders.Add(1)
			}
		})
	}
	callers.Wait()
	if n := holders.Load(); n != 1 {
		t.Errorf("%d hold the lease", n)
	}
}
