package redis_test

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

func server(t testing.TB, args ...string) *redistest.Server {
	t.Helper()
	s, err := redistest.Start(args...)
	return redistest.Started(t, s, err)
}

// do runs a command at a server.
func do(t testing.TB, s *redistest.Server, args ...string) rueidis.RedisMessage {
	t.Helper()
	m, err := s.Do(args...)
	if err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%.80q: %v", args, err)
	}
	return m
}

// open connects, and closes after the test.
func open(t testing.TB, o redis.Options, addrs ...string) *redis.Redis {
	t.Helper()
	o.Client.InitAddress = addrs
	if o.Prefixes == nil {
		o.Prefixes = []string{"user:", "item:"}
	}
	r, err := redis.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}
