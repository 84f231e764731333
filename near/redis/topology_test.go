package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// Catches: a master that nobody watches, also one that has never been asked for anything; a
// new one that is not noticed; a slot that moves without its keys being told.
func TestCluster(t *testing.T) {
	for name, args := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			testCluster(t, args)
		})
	}
}

func testCluster(t *testing.T, args []string) {
	c, err := redistest.StartCluster(3, args...)
	redistest.Started(t, c, err)
	r := open(t, redis.Options{}, c.Masters[0].Addr)
	w := neartest.Record(t, r, lag)
	for _, s := range c.Masters {
		key := keyOf(t, s)
		do(t, s, "SET", key, "1")
		w.AwaitKey(t, key)
	}

	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprint("user:", i))
		check(t, r.Set(t.Context(), keys[i], found(keys[i])))
	}
	items, err := r.Get(t.Context(), keys...)
	check(t, err)
	for i, item := range items {
		if item.State != near.Found || string(item.Value) != keys[i] {
			t.Errorf("%s: %+v", keys[i], item)
		}
	}
	if items, err := r.Lease(t.Context(), lag, append(keys[:50:50], "user:new", "item:new")...); err != nil || items[0].State != near.Found || items[50].Token == "" || items[51].Token == "" {
		t.Errorf("%+v, %v", items[50:], err)
	}
	check(t, r.Del(t.Context(), keys[1:]...))

	from, slot, err := c.Owner("user:0")
	check(t, err)
	to := c.Masters[0]
	if from == to {
		to = c.Masters[1]
	}
	w.AwaitAgain(t, "the migration", func() { check(t, c.Migrate(slot, from, to)) })
	n := count(w, "user:0")
	do(t, to, "SET", "user:0", "newer")
	w.Await(t, "a change at the new owner", func() bool { return countLocked(w, "user:0") > n })
	if got := get(t, r, "user:0"); string(got.Value) != "newer" {
		t.Errorf("%+v", got)
	}

	fourth, err := redistest.StartNode(args...)
	redistest.Started(t, fourth, err)
	w.AwaitAgain(t, "a fourth master", func() { check(t, c.Join(fourth)) })
	w.AwaitAgain(t, "its first slot", func() { check(t, c.Migrate(slot, to, fourth)) })
	n = count(w, "user:0")
	do(t, fourth, "SET", "user:0", "newest")
	w.Await(t, "a change at the fourth", func() bool { return countLocked(w, "user:0") > n })

	if _, err := redis.New(t.Context(), redis.Options{Prefixes: []string{""}, Channel: "c", Client: rueidis.ClientOption{InitAddress: []string{c.Masters[0].Addr}}}); err == nil {
		t.Error("a channel in a cluster is no error")
	}
}

// keyOf returns a key that a master of a cluster owns.
func keyOf(t *testing.T, s *redistest.Server) string {
	t.Helper()
	for i := range 1000 {
		key := fmt.Sprint("user:at ", i)
		if _, err := s.Do("GET", key); rueidis.IsRedisNil(err) {
			return key
		}
	}
	t.Fatal("the server owns none of 1000 keys")
	return ""
}

// Catches: a source that stays with a master that was replaced and does not know it.
func TestSentinel(t *testing.T) {
	t.Parallel() // it mostly waits
	f, err := redistest.StartFailover(3)
	redistest.Started(t, f, err)
	r := open(t, redis.Options{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}, f.Addrs()...)
	w := neartest.Record(t, r, lag)
	check(t, r.Set(t.Context(), "user:1", found("1")))
	w.AwaitKey(t, "user:1")

	// The old master stays alive, and its connections may stay open.
	w.AwaitAgain(t, "the failover", func() { check(t, f.Promote()) })
	check(t, r.Set(t.Context(), "user:2", found("2")))
	w.AwaitKey(t, "user:2")
	if _, err := f.Replica.Do("GET", "user:2"); err != nil {
		t.Errorf("the new master: %v", err)
	}
}

// Catches: reads that are refused although the Sentinel answers all the time.
func TestSentinelStays(t *testing.T) {
	t.Parallel() // it mostly waits
	f, err := redistest.StartFailover(1)
	redistest.Started(t, f, err)
	r := open(t, redis.Options{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}, f.Addrs()...)
	neartest.Record(t, r, lag)
	time.Sleep(2 * lag)
	check(t, r.Set(t.Context(), "user:1", found("1")))
	if got := get(t, r, "user:1"); string(got.Value) != "1" {
		t.Errorf("%+v", got)
	}
}

// Catches: a source that trusts a Sentinel on the smaller side of a partition, while the others
// may replace the master.
func TestSentinelWithoutQuorum(t *testing.T) {
	t.Parallel() // it mostly waits
	f, err := redistest.StartFailover(3)
	redistest.Started(t, f, err)
	r := open(t, redis.Options{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}, f.Addrs()...)
	w := neartest.Record(t, r, lag)
	check(t, r.Set(t.Context(), "user:1", found("1")))
	w.AwaitAgain(t, "the others to come back", func() {
		for _, s := range f.Sentinels[1:] {
			check(t, s.Pause())
		}
		w.Await(t, "Lost", func() bool { return !w.Served })
		// The master is up, but may have been replaced: what it says may be old.
		time.Sleep(lag)
		if items, err := r.Get(t.Context(), "user:1"); err == nil {
			t.Errorf("read from a master that nobody names: %+v", items)
		}
		if err := r.Del(t.Context(), "user:1"); err == nil {
			t.Error("a master that nobody names took a Del")
		}
		for _, s := range f.Sentinels[1:] {
			check(t, s.Resume())
		}
	})
	if got := get(t, r, "user:1"); string(got.Value) != "1" {
		t.Errorf("afterwards: %+v", got)
	}
}
