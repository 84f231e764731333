package redis_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
)

// TestCallsWhileDialing has connections for reading and writing break, and new ones neither succeed
// nor fail, as when packets are dropped.
//
// Catches: a caller that waits for a dial when its context has ended.
func TestCallsWhileDialing(t *testing.T) {
	s := server(t)
	var stuck atomic.Bool
	release := make(chan struct{})
	defer close(release)
	r := open(t, redis.Options{Client: rueidis.ClientOption{
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if stuck.Load() {
				<-release
			}
			return d.DialContext(ctx, "tcp", addr)
		},
	}}, s.Addr)
	get(t, r, "user:1")
	stuck.Store(true)
	for _, id := range readerIDs(t, s) {
		do(t, s, "CLIENT", "KILL", "ID", id)
	}
	for name, call := range map[string]func(context.Context) error{
		"Set":     func(ctx context.Context) error { return r.Set(ctx, "user:1", found("1")) },
		"Del":     func(ctx context.Context) error { return r.Del(ctx, "user:1") },
		"Get":     func(ctx context.Context) error { _, err := r.Get(ctx, "user:1"); return err },
		"Lease":   func(ctx context.Context) error { _, err := r.Lease(ctx, time.Second, "user:1"); return err },
		"Release": func(ctx context.Context) error { return r.Release(ctx, "user:1", "token") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- call(ctx) }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s waits for a dial although its context has ended", name)
		}
		cancel()
	}
}
