package relay_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// as connects as a user of Redis.
func as(t testing.TB, user, addr string) *redis.Redis {
	t.Helper()
	r, err := redis.New(t.Context(), redis.Options{
		Client:   rueidis.ClientOption{InitAddress: []string{addr}, Username: user, Password: "password"},
		Prefixes: []string{"user:"}, Relay: "main",
	})
	check(t, err)
	t.Cleanup(r.Close)
	return r
}

// TestRights has a relay and an instance do what they do with the rights that doc.go names.
//
// Catches: a right that is missing there.
func TestRights(t *testing.T) {
	t.Parallel()
	s := server(t)
	doc, err := os.ReadFile("doc.go")
	check(t, err)
	lines := regexp.MustCompile(`(?m)^//\t(ACL SETUSER .*)$`).FindAllStringSubmatch(string(doc), -1)
	if len(lines) != 2 {
		t.Fatalf("doc.go has %d users, want 2", len(lines))
	}
	for _, line := range lines {
		_, err := s.Do(strings.Fields(line[1])...)
		check(t, err)
	}
	db := &database{}
	_, err = s.Do("SET", "user:0", "old") // for the relay to remove
	check(t, err)
	start(t, relay.Options{Source: db, Redis: as(t, "relay", s.Addr)})
	o := over(t, as(t, "app", s.Addr))
	c, err := near.New(o, o, near.Options[int, int]{Prefix: "user:", MaxLag: maxLag, Away: near.Fail})
	check(t, err)
	defer c.Close(context.Background())
	load := func(context.Context) (int, error) { return 7, nil }
	neartest.InTime(t, "a value through Redis", func() {
		for _, err := c.Take(t.Context(), 1, load); err != nil; _, err = c.Take(t.Context(), 1, load) {
			time.Sleep(10 * time.Millisecond)
		}
	})
	neartest.InTime(t, "another one after Del", func() {
		check(t, c.Del(t.Context(), 1))
		for _, err := c.Take(t.Context(), 1, load); err != nil; _, err = c.Take(t.Context(), 1, load) {
			time.Sleep(10 * time.Millisecond)
		}
	})
	log, err := s.Do("ACL", "LOG")
	check(t, err)
	entries, err := log.ToArray()
	check(t, err)
	for _, entry := range entries {
		fields, _ := entry.AsMap()
		object := fields["object"]
		what, _ := object.ToString()
		t.Errorf("Redis has refused %q", what)
	}
}
