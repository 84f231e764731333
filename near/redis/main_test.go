package redis_test

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

const (
	lag      = 300 * time.Millisecond // the MaxLag of these tests: after a stall of that length a source reconnects
	patience = time.Minute            // for what must happen
)

// modes are the ways to hear of changes, with the arguments of a server that offers no better one.
var modes = map[string][]string{
	"tracking": nil, "notifications": append(notTracking, "--notify-keyspace-events", "KA"), "RESP2": {"--rename-command", "HELLO", "", "--notify-keyspace-events", "KA"},
}

// notTracking are the arguments of a server that refuses to track.
var notTracking = []string{"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-client|tracking"}

// open connects, and closes after the test.
func open(t testing.TB, o redis.Options, addrs ...string) *redis.Redis {
	t.Helper()
	o.Client.InitAddress = addrs
	o.Client.ConnWriteTimeout, o.Client.Dialer.Timeout = patience, patience
	if o.Channel != "" {
		o.Client.ConnWriteTimeout = 5 * time.Second // rueidis waits for half of it before it connects a subscriber again
	}
	if o.Prefixes == nil {
		o.Prefixes = []string{"user:", "item:"}
	}
	r, err := redis.New(t.Context(), o)
	check(t, err)
	t.Cleanup(r.Close)
	return r
}

// await waits until is returns true, and fails the test with the state that it returns.
func await(t testing.TB, what string, is func() (ok bool, state any)) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ok, state := is()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waiting for %s: %v", what, state)
		}
	}
}

// refusal returns the error of New, which must fail.
func refusal(t testing.TB, what string, o redis.Options) error {
	t.Helper()
	r, err := redis.New(t.Context(), o)
	if err == nil {
		r.Close()
		t.Fatalf("%s: no error", what)
	}
	return err
}

var (
	server = redistest.Serve
	do     = redistest.Do
	watch  = neartest.Record
	check  = settle.Must // ends a test with an error that it did not expect
)
