package redis_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// tracker returns the line of CLIENT LIST for a connection that tracks. There may be none for
// a moment, while the source reconnects.
func tracker(t testing.TB, s *redistest.Server) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		list := do(t, s, "CLIENT", "LIST")
		text, err := list.ToString()
		check(t, err)
		if line := regexp.MustCompile(`(?m)^.* flags=\w*B .*$`).FindString(text); line != "" {
			return line
		}
		if time.Now().After(end) {
			t.Fatalf("no connection tracks: %s", text)
		}
	}
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

// TestSecrets checks that no text about options and clients, and no error, has a password.
func TestSecrets(t *testing.T) {
	const secret = "hunter2"
	s := server(t, "--requirepass", secret)
	o := redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{
		InitAddress: []string{s.Addr}, Password: secret, Sentinel: rueidis.SentinelOption{Password: secret},
	}}
	r, err := redis.New(t.Context(), o)
	check(t, err)
	defer r.Close()
	url := o
	url.Client.InitAddress = []string{"redis://app:" + secret + "@" + s.Addr}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		for _, of := range []any{o, &o, url, r, struct{ store any }{r}} {
			if text := fmt.Sprintf(verb, of); strings.Contains(text, secret) {
				t.Errorf("%s of a %T: %s", verb, of, text)
			}
		}
	}
	if text := fmt.Sprint(o); !strings.Contains(text, s.Addr) || !strings.Contains(text, "user:") {
		t.Errorf("the options are %s", text)
	}
	for _, addr := range []string{url.Client.InitAddress[0], "rediss://:" + secret + "@h:1/0", "app:" + secret + "@h:1", "redis://h:1?password=" + secret} {
		o.Client.InitAddress = []string{s.Addr, addr}
		r, err := redis.New(t.Context(), o)
		if err == nil {
			r.Close()
			t.Errorf("%s: no error", addr)
		} else if text := err.Error(); strings.Contains(text, secret) || !strings.Contains(text, "rueidis.ParseURL") {
			t.Errorf("%s: %s", addr, text)
		}
	}
}

// Catches: a user with the rights of the documentation who cannot watch, or read.
func TestACL(t *testing.T) {
	s := server(t)
	do(t, s, "ACL", "SETUSER", "app", "on", ">pw", "~user:*", "-@all", "+@read", "+@write", "+@scripting", "+client|tracking", "+info", "+ping")
	r := open(t, redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{Username: "app", Password: "pw"}}, s.Addr)
	w := watch(t, r, lag)
	w.tellsKey(t, "user:1", func() { check(t, r.Set(t.Context(), "user:1", found("one"))) })
	if got := get(t, r, "user:1"); string(got.Value) != "one" {
		t.Errorf("%+v", got)
	}
}

// Catches: a channel that brings no changes, also without tracking, or none after a reconnect;
// one that vouches for a replica; one that needs INFO.
func TestChannel(t *testing.T) {
	for name, s := range map[string]*redistest.Server{
		"RESP3": server(t), "RESP2": server(t, "--rename-command", "HELLO", ""), "no INFO": server(t, "--rename-command", "INFO", ""),
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, redis.Options{Channel: "changes"}, s.Addr)
			w := watch(t, r, lag)
			told := func(key string, change func() error) {
				t.Helper()
				w.tellsKey(t, key, func() { check(t, change()) })
			}
			ctx := t.Context()
			key, n := "", 0
			leased := func(what string, end func(token string) error) {
				t.Helper()
				w.tells(t, what, func() {
					n++
					key = fmt.Sprint("user:leased ", n) // of which nothing was told yet
					items, err := r.Lease(ctx, time.Hour, key)
					check(t, err)
					check(t, end(items[0].Token))
				}, func() bool { return countLocked(w, key) > 0 })
			}
			told("user:1", func() error { return r.Set(ctx, "user:1", found("1")) })
			told("user:1", func() error { return r.Del(ctx, "user:1") })
			leased("Fill", func(token string) error { _, err := r.Fill(ctx, key, token, found("2")); return err })
			leased("Release", func(token string) error { return r.Release(ctx, key, token) })
			w.awaitAgain(t, "the reconnect", func() { s.Kill(); check(t, s.Restart()) })
			told("user:3", func() error { return r.Set(ctx, "user:3", near.Item{State: near.Absent, TTL: time.Hour}) })
			if name == "no INFO" {
				return
			}
			w.awaitAgain(t, "a master again", func() {
				do(t, s, "REPLICAOF", "127.0.0.1", "1")
				w.awaitLost(t, "replica")
				do(t, s, "REPLICAOF", "NO", "ONE")
			})
		})
	}
}
