package redis_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// documentedACL returns the commands in doc.go that give a user its rights.
func documentedACL(t *testing.T) (server, cluster, keyspace, channel, sentinel, fleet []string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	check(t, err)
	lines := regexp.MustCompile(`(?m)^//\tACL SETUSER app (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) != 6 {
		t.Fatalf("doc.go has %d lines of ACL, want 6", len(lines))
	}
	words := func(i int) []string { return append([]string{"ACL", "SETUSER", "app"}, strings.Fields(lines[i][1])...) }
	return words(0), words(1), words(2), words(3), words(4), words(5)
}

// refusedByACL fails the test if a server has refused something that the user did, but for what it may.
func refusedByACL(t *testing.T, may string, servers ...*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		log := do(t, s, "ACL", "LOG")
		entries, err := log.ToArray()
		check(t, err)
		for _, entry := range entries {
			fields, _ := entry.AsMap()
			object := fields["object"]
			what, _ := object.ToString()
			if what == may {
				continue
			}
			t.Errorf("%s has refused %q", s.Addr, what)
		}
	}
}

// use does with a client what a near cache does.
func use(t *testing.T, r *redis.Redis) {
	t.Helper()
	w := neartest.Record(t, r, lag)
	for _, key := range []string{"user:1", "user:2", "user:3", "user:4"} { // of several nodes
		check(t, r.Set(t.Context(), key, found("one")))
		if got := get(t, r, key); string(got.Value) != "one" {
			t.Errorf("%+v", got)
		}
		check(t, r.Del(t.Context(), key))
		w.AwaitKey(t, key)
		for _, end := range []func(token string) error{
			func(token string) error { return r.Release(t.Context(), key, token) },
			func(token string) error { _, err := r.Fill(t.Context(), key, token, found("two")); return err },
		} {
			items, err := r.Lease(t.Context(), lag, key)
			check(t, err)
			check(t, end(items[0].Token))
		}
		number, err := r.Next(t.Context(), key+"#")
		check(t, err)
		_, err = r.Add(t.Context(), key+"@", found(strconv.FormatInt(number, 10)))
		check(t, err)
		check(t, r.Drop(t.Context(), key, nil))
	}
	time.Sleep(1200 * time.Millisecond) // rueidis pings after a second
}

// A deaf watcher hears nothing.
type deaf struct{}

func (deaf) Changed(...string)     {}
func (deaf) ChangedAll()           {}
func (deaf) Current(time.Time)     {}
func (deaf) Lost(error)            {}
func (deaf) MaxLag() time.Duration { return lag }

// tryToUse is use for a user who may lack a right.
func tryToUse(t *testing.T, r *redis.Redis) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	var watching sync.WaitGroup
	watching.Go(func() { r.Watch(ctx, deaf{}) })
	defer watching.Wait()
	defer cancel()
	_ = r.Set(ctx, "user:1", found("one"))
	_, _ = r.Get(ctx, "user:1")
	_ = r.Del(ctx, "user:1")
	_, _ = r.Next(ctx, "user:#")
	for range 2 { // a script that the server has not yet, and then has
		if items, err := r.Lease(ctx, lag, "user:1"); err == nil {
			_ = r.Release(ctx, "user:1", items[0].Token)
		}
	}
	time.Sleep(1200 * time.Millisecond) // rueidis pings after a second
	_, _ = r.Mark(ctx)
	_, _ = r.Revoke(ctx, "user:1")
}

// TestACLIsTight checks that a user who lacks any one of the documented rights is refused
// something that a near cache does.
//
// Catches: a documented right that nothing needs.
func TestACLIsTight(t *testing.T) {
	asServer, _, byKeyspace, withChannel, _, inFleet := documentedACL(t)
	untracked := slices.DeleteFunc(slices.Clone(asServer), func(right string) bool { return right == "+client|tracking" })
	for _, test := range []struct {
		words   []string // that the documentation gives
		before  []string // what the user has already
		channel string
		fleet   string
		most    int // entries of the log that are for other reasons
	}{
		{words: asServer},
		{words: byKeyspace, before: untracked, most: 1},
		{words: withChannel, before: asServer, channel: "changes"},
		{words: inFleet, before: asServer, fleet: fleetName},
	} {
		for i, right := range test.words {
			if i < 3 || right == "on" || right == ">password" {
				continue
			}
			t.Run(test.channel+test.fleet+right, func(t *testing.T) {
				t.Parallel()
				s := server(t, "--notify-keyspace-events", "KA")
				if test.before != nil {
					do(t, s, test.before...)
				}
				do(t, s, slices.Concat(test.words[:i], test.words[i+1:])...)
				o := redis.Options{Prefixes: []string{"user:"}, Channel: test.channel, Fleet: test.fleet, StartWithoutRedis: true,
					Client: rueidis.ClientOption{InitAddress: []string{s.Addr}, Username: "app", Password: "password"}}
				if r, err := redis.New(t.Context(), o); err == nil {
					tryToUse(t, r)
					r.Close()
				}
				log := do(t, s, "ACL", "LOG")
				refused, err := log.ToArray()
				check(t, err)
				if len(refused) <= test.most {
					t.Errorf("%d things are refused without %s, want more than %d", len(refused), right, test.most)
				}
			})
		}
	}
}

// TestACL has a user with exactly the documented rights do what a near cache does.
//
// Catches: a right that the documentation leaves out, of which the user of an ACL hears in
// production; and commands that fill the log of refused ones.
func TestACL(t *testing.T) {
	asServer, inCluster, byKeyspace, withChannel, atSentinel, inFleet := documentedACL(t)
	asUser := redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{Username: "app", Password: "password"}}
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		s := server(t)
		do(t, s, asServer...)
		use(t, open(t, asUser, s.Addr))
		refusedByACL(t, "", s)
	})
	t.Run("channel", func(t *testing.T) {
		t.Parallel()
		s := server(t)
		do(t, s, asServer...)
		do(t, s, append(withChannel, "-client|tracking")...)
		o := asUser
		o.Channel = "changes"
		use(t, open(t, o, s.Addr))
		refusedByACL(t, "", s)
	})
	t.Run("fleet", func(t *testing.T) {
		t.Parallel()
		s := server(t)
		do(t, s, asServer...)
		do(t, s, inFleet...)
		o := asUser
		o.Fleet = fleetName
		r := open(t, o, s.Addr)
		use(t, r)
		_, err := r.Mark(t.Context())
		check(t, err)
		neartest.Record(t, r, lag)
		settle(t, r)
		refusedByACL(t, "", s)
	})
	t.Run("keyspace", func(t *testing.T) {
		t.Parallel()
		s := server(t, "--notify-keyspace-events", "KA")
		do(t, s, append(slices.Clone(asServer), "-client|tracking")...)
		do(t, s, byKeyspace...)
		use(t, open(t, asUser, s.Addr))
		refusedByACL(t, "client|tracking", s)
	})
	inACluster := func(t *testing.T, may string, more ...string) {
		t.Parallel()
		c, err := redistest.StartCluster(3, "--notify-keyspace-events", "KA")
		redistest.Started(t, c, err)
		for _, s := range c.Masters {
			do(t, s, asServer...)
			do(t, s, inCluster...)
			do(t, s, append([]string{"ACL", "SETUSER", "app"}, more...)...)
		}
		r := open(t, asUser, c.Masters[0].Addr)
		use(t, r)
		from, slot, err := c.Owner("user:1") // a move brings MOVED and ASK
		check(t, err)
		to := c.Masters[0]
		if to == from {
			to = c.Masters[1]
		}
		w := neartest.Record(t, r, lag)
		w.AwaitAgain(t, "the migration", func() { check(t, c.Migrate(slot, from, to)) })
		get(t, r, "user:1")
		refusedByACL(t, may, c.Masters...)
	}
	t.Run("cluster", func(t *testing.T) { inACluster(t, "") })
	t.Run("keyspace in a cluster", func(t *testing.T) {
		inACluster(t, "client|tracking", append([]string{"-client|tracking"}, byKeyspace[3:]...)...)
	})
	t.Run("Sentinels", func(t *testing.T) {
		t.Parallel()
		f, err := redistest.StartFailover(3)
		redistest.Started(t, f, err)
		for _, s := range []*redistest.Server{f.Master, f.Replica} {
			do(t, s, asServer...)
		}
		for _, s := range f.Sentinels {
			do(t, s, atSentinel...)
		}
		o := asUser
		o.Client.Sentinel = rueidis.SentinelOption{MasterSet: redistest.MasterName, Username: "app", Password: "password"}
		use(t, open(t, o, f.Addrs()...))
		refusedByACL(t, "", append(f.Sentinels, f.Master)...)
	})
}
