package redis_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// trackerID returns the id of a connection that tracks.
func trackerID(t testing.TB, s *redistest.Server) string {
	t.Helper()
	list := do(t, s, "CLIENT", "LIST")
	text, err := list.ToString()
	check(t, err)
	if m := regexp.MustCompile(`id=(\d+) .* flags=\w*B `).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	t.Fatalf("no connection tracks: %s", text)
	return ""
}

// Catches: a server that cannot push changes and is accepted, and an error that does not say
// what to do.
func TestRefused(t *testing.T) {
	resp2 := server(t, "--rename-command", "HELLO", "")
	s := server(t)
	do(t, s, "ACL", "SETUSER", "blind", "on", ">pw", "~*", "&*", "+@all", "-client|tracking")
	replica := server(t, "--replicaof", strings.Replace(s.Addr, ":", " ", 1))
	for _, c := range []struct {
		name string
		o    redis.Options
		addr string
		is   error
		says []string
	}{
		{"RESP2", redis.Options{}, resp2.Addr, redis.ErrNoTracking, []string{"Redis 6", "Options.Channel", resp2.Addr}},
		{"ACL", redis.Options{Client: rueidis.ClientOption{Username: "blind", Password: "pw"}}, s.Addr, nil, []string{"ACL SETUSER blind +client|tracking"}},
		{"password", redis.Options{Client: rueidis.ClientOption{Username: "blind", Password: "wrong"}}, s.Addr, nil, []string{"WRONGPASS"}},
		{"replica", redis.Options{}, replica.Addr, nil, []string{"replica", "address of the master"}},
		{"nobody", redis.Options{}, "127.0.0.1:1", nil, []string{"127.0.0.1:1", "refused"}},
		{"no prefix", redis.Options{Prefixes: []string{}}, s.Addr, nil, []string{"Prefixes"}},
		{"overlap", redis.Options{Prefixes: []string{"user:", "item:", "user:1"}}, s.Addr, nil, []string{`"user:" covers "user:1"`}},
		{"reads from replicas", redis.Options{Client: rueidis.ClientOption{ReplicaOnly: true}}, s.Addr, nil, []string{"ReplicaOnly"}},
	} {
		if c.o.Prefixes == nil {
			c.o.Prefixes = []string{"user:"}
		}
		c.o.Client.InitAddress = []string{c.addr}
		r, err := redis.New(t.Context(), c.o)
		if err == nil {
			r.Close()
			t.Errorf("%s: no error", c.name)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", c.name, err, c.is)
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, without %q", c.name, err, part)
			}
		}
	}
	if _, err := redis.New(t.Context(), redis.Options{Prefixes: []string{"a"}}); err == nil || !strings.Contains(err.Error(), "InitAddress") {
		t.Errorf("no address: %v", err)
	}
}

// Catches: a channel that brings no changes, also without tracking, or none after a reconnect.
func TestChannel(t *testing.T) {
	for name, s := range map[string]*redistest.Server{"RESP3": server(t), "RESP2": server(t, "--rename-command", "HELLO", "")} {
		t.Run(name, func(t *testing.T) {
			r := open(t, redis.Options{Channel: "changes"}, s.Addr)
			w := neartest.Record(t, r, lag)
			told := func(key string, change func() error) {
				t.Helper()
				n := count(w, key)
				check(t, change())
				w.Await(t, key, func() bool { return countLocked(w, key) > n })
			}
			ctx := t.Context()
			told("user:1", func() error { return r.Set(ctx, "user:1", found("1")) })
			told("user:1", func() error { return r.Del(ctx, "user:1") })
			items, err := r.Lease(ctx, lag, "user:1")
			check(t, err)
			told("user:1", func() error { _, err := r.Fill(ctx, "user:1", items[0].Token, found("2")); return err })
			items, err = r.Lease(ctx, lag, "user:2")
			check(t, err)
			told("user:2", func() error { return r.Release(ctx, "user:2", items[0].Token) })
			w.AwaitAgain(t, "the reconnect", func() { s.Kill(); check(t, s.Restart()) })
			told("user:3", func() error { return r.Set(ctx, "user:3", near.Item{State: near.Absent, TTL: lag}) })
		})
	}
}

// Catches: a channel that goes on at a server that has become a replica.
func TestChannelAtAReplica(t *testing.T) {
	other := server(t)
	s := server(t)
	w := neartest.Record(t, open(t, redis.Options{Channel: "changes"}, s.Addr), lag)
	host, port, _ := strings.Cut(other.Addr, ":")
	w.AwaitAgain(t, "the server to be a master again", func() {
		do(t, s, "REPLICAOF", host, port)
		w.Await(t, "Lost", func() bool { return !w.Served })
		do(t, s, "REPLICAOF", "NO", "ONE")
	})
}

func count(w *neartest.Recorder, key string) int {
	w.Lock()
	defer w.Unlock()
	return countLocked(w, key)
}

func countLocked(w *neartest.Recorder, key string) (n int) {
	for _, k := range w.Keys {
		if k == key {
			n++
		}
	}
	return n
}
