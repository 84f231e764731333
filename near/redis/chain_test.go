package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// chain returns the chain of a client with a relay.
func chain(t testing.TB, r *redis.Redis) *redis.Chain {
	t.Helper()
	c, err := r.Chain()
	check(t, err)
	return c
}

func begin(t testing.TB, c *redis.Chain) *redis.Steps {
	t.Helper()
	s, err := c.Begin(t.Context())
	check(t, err)
	return s
}

// Catches: a removal that is not told before the beat after it; a beat that is not told, or is not in Redis
// when a key is read; a key that is read before it.
func TestChainTells(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{Relay: "main"}, s.Addr)
	c := chain(t, r)
	steps := begin(t, c)
	told := neartest.Record(t, r, time.Second)
	keys := make([]string, 600) // more than a step has
	fill(t, s, len(keys))
	for i := range keys {
		keys[i] = fmt.Sprint("user:", i)
	}
	check(t, steps.Del(t.Context(), keys...))
	check(t, steps.Beat(t.Context()))
	var first redis.Beat
	beat := func() int {
		return slices.IndexFunc(told.Keys, func(key string) (ok bool) { first, ok = c.Heard(key); return ok })
	}
	told.Await(t, "the beat", func() bool { return beat() >= 0 })
	told.Lock()
	for _, key := range keys {
		if !slices.Contains(told.Keys[:beat()], key) {
			t.Errorf("%s is not told before the beat", key)
		}
	}
	told.Unlock()
	if first.Number != 1 {
		t.Errorf("the first beat is %+v", first)
	}
	check(t, r.Set(t.Context(), "user:1", found("one")))
	do(t, s, "SCRIPT", "FLUSH")
	items, last, err := c.Lease(t.Context(), time.Minute, "user:1", "user:2")
	if err != nil || string(items[0].Value) != "one" || items[1].Token == "" || last != first {
		t.Errorf("Lease: %+v, %+v, %v; want %+v", items, last, err, first)
	}
	do(t, s, "SCRIPT", "FLUSH")
	check(t, steps.Beat(t.Context()))
	if items, last, err = c.Get(t.Context(), "user:1"); err != nil || string(items[0].Value) != "one" || last.Number != 2 {
		t.Errorf("Get: %+v, %+v, %v", items, last, err)
	}
	if len(strings.Fields(keysOf(t, s))) != 3 {
		t.Errorf("Redis has the keys %s, want two and that of the chain", keysOf(t, s))
	}
}

// fill stores n keys, the first of which is user:0.
func fill(t testing.TB, s *redistest.Server, n int) {
	t.Helper()
	do(t, s, "EVAL", "for i = 0, ARGV[1] - 1 do redis.call('SET', 'user:' .. i, 'x') end", "0", fmt.Sprint(n))
}

func keysOf(t testing.TB, s *redistest.Server) string {
	t.Helper()
	m := do(t, s, "KEYS", "*")
	keys, err := m.AsStrSlice()
	check(t, err)
	return strings.Join(keys, " ")
}

// Catches: a relay that goes on though Redis has lost one of its steps, or another relay has begun.
func TestChainBreaks(t *testing.T) {
	s := server(t)
	c := chain(t, open(t, redis.Options{Relay: "main"}, s.Addr))
	for name, harm := range map[string]func(){
		"another relay": func() { begin(t, c) },
		"all is gone":   func() { do(t, s, "FLUSHALL") },
		"what was saved before the last step": func() {
			m := do(t, s, "GET", "pinwheel:relay:main")
			saved, err := m.ToString()
			check(t, err)
			fields := strings.Fields(saved)
			do(t, s, "SET", "pinwheel:relay:main", fields[0]+" 1 1")
		},
		"something else": func() { do(t, s, "SET", "pinwheel:relay:main", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			steps := begin(t, c)
			check(t, steps.Beat(t.Context()))
			check(t, steps.Del(t.Context(), "user:1"))
			do(t, s, "SET", "user:2", "two")
			harm()
			for _, step := range []func() error{
				func() error { return steps.Del(t.Context(), "user:2") },
				func() error { return steps.Beat(t.Context()) },
				func() error { return steps.DelAll(t.Context()) },
			} {
				if err := step(); !errors.Is(err, redis.ErrChainBroken) {
					t.Errorf("%v, want ErrChainBroken", err)
				}
			}
		})
	}
}

// Catches: keys that stay, or keys of others that go.
func TestDelAll(t *testing.T) {
	s := server(t)
	c := chain(t, open(t, redis.Options{Relay: "main", Prefixes: []string{"user:", "a*b?[c]\\:"}}, s.Addr))
	steps := begin(t, c)
	fill(t, s, 2000)
	do(t, s, "SET", "a*b?[c]\\:1", "x")
	others := []string{"other:1", "axb:1", "aab1[c]\\:", "users", "pinwheel:relay:other"}
	for _, key := range others {
		do(t, s, "SET", key, "x")
	}
	check(t, steps.DelAll(t.Context()))
	check(t, steps.Beat(t.Context()))
	left := strings.Fields(keysOf(t, s))
	want := append(others, "pinwheel:relay:main")
	slices.Sort(left)
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

// Catches: a step whose answer was lost and that cannot be repeated; one that arrives late and counts.
func TestStepsRepeated(t *testing.T) {
	s := server(t)
	p := neartest.NewProxy(t, s.Addr)
	r := open(t, redis.Options{Relay: "main"}, p.Addr)
	steps := begin(t, chain(t, r))
	neartest.Record(t, r, 200*time.Millisecond) // connects anew
	check(t, steps.Beat(t.Context()))
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		p.Suffer(neartest.Faults["cut"], 300*time.Millisecond, neartest.FromServer)
	}()
	failed := 0
	for done := false; !done || failed == 0; {
		do(t, s, "SET", "user:1", "x")
		for err := steps.Del(t.Context(), "user:1"); err != nil; err = steps.Del(t.Context(), "user:1") {
			failed++
			if errors.Is(err, redis.ErrChainBroken) {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if keys := keysOf(t, s); strings.Contains(keys, "user:1") {
			t.Fatal("the key is still there")
		}
		select {
		case <-cut:
			done = true
		default:
		}
	}
	check(t, steps.Beat(t.Context()))
}

// Catches: options with which a relay would harm others, or would not be heard.
func TestRelayRefused(t *testing.T) {
	t.Parallel()
	s := server(t)
	_, err := redis.New(t.Context(), redis.Options{Client: rueidis.ClientOption{InitAddress: []string{s.Addr}}, Prefixes: []string{""}, Relay: "main"})
	if err == nil || !strings.Contains(err.Error(), "removes all keys") {
		t.Errorf("all keys: %v", err)
	}
	if _, err := open(t, redis.Options{}, s.Addr).Chain(); err == nil {
		t.Error("a chain without a name")
	}
	cluster, err := redistest.StartCluster(3)
	redistest.Started(t, cluster, err)
	c := chain(t, open(t, redis.Options{Relay: "main"}, cluster.Masters[0].Addr))
	if _, err := c.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("Begin in a cluster: %v", err)
	}
	if _, _, err := c.Get(t.Context(), "user:1"); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("Get in a cluster: %v", err)
	}
}
