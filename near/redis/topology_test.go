package redis_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// Catches: a master that nobody watches, also one that has never been asked for anything; a
// new one that is not noticed; a slot that moves without its keys being told.
func TestCluster(t *testing.T) {
	for name, denied := range map[string][]string{"tracking": nil, "notifications": {"-client|tracking"}, "slots": {"-client|tracking", "-cluster|nodes"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			inCluster(t, denied)
		})
	}
}

// inCluster watches a cluster as a user to whom commands are denied.
func inCluster(t *testing.T, denied []string) {
	c, err := redistest.StartCluster(3)
	redistest.Started(t, c, err)
	prepare := func(s *redistest.Server) {
		do(t, s, append([]string{"ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"}, denied...)...)
		do(t, s, "CONFIG", "SET", "notify-keyspace-events", "KA")
	}
	for _, s := range c.Masters {
		prepare(s)
	}
	r := open(t, redis.Options{Client: rueidis.ClientOption{Username: "app", Password: "pw"}}, c.Masters[0].Addr)
	if r.Partial() != (denied != nil) {
		t.Errorf("Partial is %t", r.Partial())
	}
	w := watch(t, r, lag)
	numbers := map[int]bool{}
	for _, s := range c.Masters {
		key := keyOf(t, s)
		numbers[r.Server(key)] = true
		w.TellsKey(t, key, func() { do(t, s, "SET", key, "1") })
		alls := 0
		w.Tells(t, "FLUSHALL", func() { alls = w.Told().Alls; do(t, s, "FLUSHALL") }, func(told neartest.Told) bool { return told.Alls > alls })
	}

	if !maps.Equal(numbers, map[int]bool{0: true, 1: true, 2: true}) {
		t.Errorf("the servers have the numbers %v", numbers)
	}

	from, slot, err := c.Owner("user:0")
	check(t, err)
	to := c.Masters[0]
	if from == to {
		to = c.Masters[1]
	}
	w.AwaitAgain(t, "the migration", func() { check(t, c.Migrate(slot, from, to)) })
	w.TellsKey(t, "user:0", func() { do(t, to, "SET", "user:0", "newer") })
	if got := get(t, r, "user:0"); string(got.Value) != "newer" {
		t.Errorf("%+v", got)
	}

	fourth, err := redistest.StartNode()
	redistest.Started(t, fourth, err)
	prepare(fourth)
	w.AwaitAgain(t, "a fourth master", func() { check(t, c.Join(fourth)) })
	w.AwaitAgain(t, "its first slot", func() { check(t, c.Migrate(slot, to, fourth)) })
	w.TellsKey(t, "user:0", func() { do(t, fourth, "SET", "user:0", "newest") })

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
	w := watch(t, r, lag)
	w.TellsKey(t, "user:1", func() { check(t, r.Set(t.Context(), "user:1", found("1"))) })

	// The old master stays alive, and its connections may stay open.
	w.AwaitAgain(t, "the failover", func() { check(t, f.Promote()) })
	for end := time.Now().Add(patience); ; { // a stall may have it reconnect to the old master before
		w.TellsKey(t, "user:2", func() {
			for r.Set(t.Context(), "user:2", found("2")) != nil && time.Now().Before(end) {
				time.Sleep(10 * time.Millisecond)
			}
		})
		if _, err := f.Replica.Do("GET", "user:2"); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the new master: %v", err)
		}
	}
}

// Catches: a Sentinel that is believed while it cannot know whether the others have replaced
// the master.
func TestSentinelOfTheMinority(t *testing.T) {
	t.Parallel() // it mostly waits
	f, err := redistest.StartFailover(3)
	redistest.Started(t, f, err)
	r := open(t, redis.Options{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}, f.Sentinels[0].Addr)
	w := watch(t, r, lag)
	w.AwaitAgain(t, "the majority", func() {
		for _, s := range f.Sentinels[1:] {
			s.Kill()
		}
		w.AwaitLost(t, "NOQUORUM")
		for _, s := range f.Sentinels[1:] {
			check(t, s.Restart())
		}
	})
}

// kill ends connections of a server: those that track changes, or the others.
func kill(t *testing.T, s *redistest.Server, trackers bool) {
	t.Helper()
	for line := range strings.Lines(do(t, s, "CLIENT", "LIST")) {
		if tracks := regexp.MustCompile(`flags=\w*B`).MatchString(line); tracks == trackers && !strings.Contains(line, "cmd=client") {
			_, _ = s.Do("CLIENT", "KILL", "ID", strconv.Itoa(field(line, "id"))) // it may be gone
			if trackers {
				return
			}
		}
	}
}

// Catches: values of one server that are vouched for by another, to which the address led
// before, or to which another session has gone on.
func TestMovedAddress(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		o     redis.Options
		fault func(old *redistest.Server)
	}{
		{"values first", nil, redis.Options{}, func(old *redistest.Server) { kill(t, old, false) }},
		{"one session first", nil, redis.Options{}, func(old *redistest.Server) { kill(t, old, true) }},
		{"nothing breaks", nil, redis.Options{}, func(*redistest.Server) {}},
		{"nothing breaks, notifications", modes["notifications"], redis.Options{}, func(*redistest.Server) {}},
		{"nothing breaks, channel", nil, redis.Options{Channel: "changes"}, func(*redistest.Server) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			before, after := server(t, c.args...), server(t, c.args...)
			address := proxy(t, before)
			o := c.o
			o.Client.Username, o.Client.Password = "default", "any"
			r := open(t, o, address.Addr)
			first, second := watch(t, r, lag), watch(t, r, lag)
			check(t, r.Set(t.Context(), "user:1", found("before")))
			address.Turn(after.Addr, false)
			second.AwaitAgain(t, "the second session", func() {
				first.AwaitAgain(t, "the first session", func() {
					c.fault(before)
					_, _ = r.Get(t.Context(), "user:1") // dials
				})
			})
			for _, w := range []*neartest.Recorder{first, second} {
				w.TellsKey(t, "user:1", func() { check(t, r.Set(t.Context(), "user:1", found("after"))) })
			}
			if _, err := after.Do("GET", "user:1"); err != nil {
				t.Errorf("the server to which the address leads now: %v", err)
			}
		})
	}
}

// Catches: a master that hangs or is gone and takes the keys of the others from memory, or keeps
// callers from them; its own keys, kept for longer than MaxLag; a slot that may go to it; one that
// is back and not heard.
func TestOneMasterAway(t *testing.T) {
	for name, away := range map[string]func(*redistest.Server) (back func() error){
		"hangs": func(s *redistest.Server) func() error { check(t, s.Pause()); return s.Resume },
		"dies":  func(s *redistest.Server) func() error { s.Kill(); return s.Restart },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			c, err := redistest.StartCluster(3)
			redistest.Started(t, c, err)
			for _, s := range c.Masters {
				do(t, s, "CONFIG", "SET", "cluster-require-full-coverage", "no")
				do(t, s, "CONFIG", "SET", "cluster-node-timeout", "60000") // nobody calls the master failed
			}
			o := redis.Options{Prefixes: []string{"user:"}}
			o.Client.InitAddress, o.Client.ConnWriteTimeout = []string{c.Masters[0].Addr}, 2*time.Second // real time: a session that begins waits so long for the one that hangs
			r, err := redis.New(t.Context(), o)
			check(t, err)
			defer r.Close()
			values, err := near.New(r, r, near.Options[string, string]{MaxLag: lag, Timeout: lag})
			check(t, err)
			defer values.Close(t.Context())
			local, err := near.NewLocal(r, near.LocalOptions[string, string]{MaxLag: lag})
			check(t, err)
			defer local.Close(t.Context())
			fetches := map[string]int{}
			take := func(key string) int { // it returns how often the key was fetched
				value, err := values.Take(t.Context(), key, func(context.Context) (string, error) { fetches[key]++; return "v", nil })
				if err != nil || value != "v" {
					t.Errorf("%s: %q, %v", key, value, err)
				}
				return fetches[key]
			}
			there, gone := []string{keyOf(t, c.Masters[1]), keyOf(t, c.Masters[2])}, keyOf(t, c.Masters[0])
			await := func(what string, is func() bool) {
				t.Helper()
				await(t, what, func() (bool, any) { return is(), values.Stats().Near })
			}
			stays := func(what string, keys ...string) {
				t.Helper()
				await(what, func() bool {
					for _, key := range keys {
						take(key)
					}
					before, fetched := values.Stats().Near, maps.Clone(fetches)
					time.Sleep(3 * lag) // it is kept for longer than MaxLag
					for _, key := range keys {
						take(key)
					}
					after := values.Stats().Near
					return after.RemoteHits == before.RemoteHits && after.Unserved == before.Unserved && maps.Equal(fetches, fetched)
				})
			}
			stays("all keys", append(there, gone)...)

			back := away(c.Masters[0]) // the only one of the options
			stays("the keys of the others", there...)
			n := take(gone)
			await("another load of the key of the one that is away", func() bool { return take(gone) > n })
			stays("the keys of the others, though one cannot be read", there...)
			await("loads that know which keys are watched", func() bool {
				return !watched(t, local, gone) && watched(t, local, there[0]) && watched(t, local, there[1])
			})
			for _, key := range there {
				n := take(key)
				do(t, c.Masters[1+slices.Index(there, key)], "DEL", key)
				await("a change at another master", func() bool { return take(key) > n })
			}

			id, slot := do(t, c.Masters[1], "CLUSTER", "MYID"), do(t, c.Masters[2], "CLUSTER", "KEYSLOT", there[1])
			do(t, c.Masters[2], "CLUSTER", "SETSLOT", slot, "MIGRATING", id)
			await("no vouching while a slot moves", func() bool { return !values.Stats().Near.Serving })
			do(t, c.Masters[2], "CLUSTER", "SETSLOT", slot, "STABLE")
			stays("the keys of the others, after that", there...)

			check(t, back())
			stays("all keys again", append(there, gone)...)
			n = take(gone)
			do(t, c.Masters[0], "DEL", gone)
			await("a change at the master that is back", func() bool { return take(gone) > n })
		})
	}
}

// watched reports whether a load of a key is told that its value may be kept for long.
func watched(t *testing.T, local *near.Local[string, string], key string) (is bool) {
	t.Helper()
	local.Forget(key)
	_, err := local.Take(t.Context(), key, func(_ context.Context, l *cache.Load[string]) (string, error) {
		is = l.Expire >= 0
		return "v", nil
	})
	check(t, err)
	return is
}
