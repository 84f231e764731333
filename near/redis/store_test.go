package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
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

// Catches: a key of another type, or a lease of no time, that is taken for something; a script that is lost.
func TestOddAnswers(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	do(t, s, "SET", "user:foreign", "raw")
	do(t, s, "HSET", "user:hash", "f", "1")
	if got := get(t, r, "user:hash"); got.State != near.Broken {
		t.Errorf("a hash is %+v", got)
	}
	items, err := r.Lease(ctx, time.Hour, "user:fresh", "user:hash")
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
		w.TellsKey(t, "user:1", func() {
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

// Catches: a lease without a TTL that lasts for ever.
func TestLeaseWithoutEnd(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	lease := func() string {
		items, err := r.Lease(t.Context(), time.Minute, "user:1")
		check(t, err)
		return items[0].Token
	}
	token := lease()
	do(t, s, "PERSIST", "user:1")
	if next := lease(); next == token || next == "" {
		t.Errorf("it is not taken over: %q", next)
	}
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
