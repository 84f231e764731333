package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"
)

// Catches: a key that is about to expire, or has expired, and is kept for ever.
func TestLifetime(t *testing.T) {
	for pttl, want := range map[int64]time.Duration{-1: 0, -2: 1, 0: 1, 1: time.Millisecond, 60_000: time.Minute} {
		if got := lifetime(pttl); got != want {
			t.Errorf("PTTL %d is %v, want %v", pttl, got, want)
		}
	}
	for ttl, want := range map[time.Duration]int64{0: 0, -time.Second: 0, 1: 1, time.Millisecond: 1, 1900 * time.Microsecond: 1, time.Minute: 60_000} {
		if got := milliseconds(ttl); got != want {
			t.Errorf("%v are %d ms, want %d", ttl, got, want)
		}
	}
}

// Catches: a second connection that is taken for the first, which missed something.
func TestNodeDialsOnce(t *testing.T) {
	n := &node{broken: make(chan struct{})}
	here, there := net.Pipe()
	defer there.Close()
	dial := n.dialOnce(t.Context(), func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return here, nil })
	conn, err := dial(t.Context(), "", nil, nil)
	if err != nil || n.isBroken() {
		t.Fatal(err)
	}
	if _, err := dial(t.Context(), "", nil, nil); !errors.Is(err, errDialedBefore) {
		t.Errorf("a second time: %v", err)
	}
	conn.Close()
	conn.Close()
	if !n.isBroken() {
		t.Error("it is closed, and not broken")
	}
}
