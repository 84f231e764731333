package redis_test

import (
	"context"
	"crypto/tls"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// readerIDs returns the ids of the connections that read and write.
func readerIDs(t *testing.T, s *redistest.Server) (ids []string) {
	t.Helper()
	list := do(t, s, "CLIENT", "LIST")
	text, err := list.ToString()
	check(t, err)
	for line := range strings.Lines(strings.TrimPrefix(text, "txt:")) {
		m := regexp.MustCompile(`^id=(\d+) .* flags=(\w+) .* cmd=([^ ]+) `).FindStringSubmatch(line)
		if m != nil && !strings.Contains(m[2], "B") && m[3] != "client|list" {
			ids = append(ids, m[1])
		}
	}
	return ids
}

// TestAddressLeadsElsewhere has the address lead new connections to another server, as a
// balancer or DNS does, while the old one and some connections stay.
//
// Catches: values that are read from a server while another one is watched.
func TestAddressLeadsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		o      redis.Options
		quiet  bool // nobody reads: all is in memory
		second bool // another watcher of the client
		cut    func(t *testing.T, old *redistest.Server, other string)
	}{
		"reading connections break": {cut: func(t *testing.T, old *redistest.Server, _ string) {
			for _, id := range readerIDs(t, old) {
				do(t, old, "CLIENT", "KILL", "ID", id)
			}
		}},
		"reading connections break, and nobody reads": {quiet: true, cut: func(t *testing.T, old *redistest.Server, _ string) {
			for _, id := range readerIDs(t, old) {
				do(t, old, "CLIENT", "KILL", "ID", id)
			}
		}},
		"reading connections end": {
			o:   redis.Options{Client: rueidis.ClientOption{ConnLifetime: 200 * time.Millisecond}},
			cut: func(*testing.T, *redistest.Server, string) {},
		},
		"another watcher loses its connection": {second: true, cut: func(t *testing.T, old *redistest.Server, other string) {
			do(t, old, "CLIENT", "KILL", "ID", other)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := server(t), server(t)
			var to atomic.Pointer[string]
			to.Store(&before.Addr)
			c.o.Client.DialCtxFn = func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return d.DialContext(ctx, "tcp", *to.Load())
			}
			r := open(t, c.o, "balancer:6379")
			do(t, before, "SET", "user:1", "before")
			do(t, after, "SET", "user:1", "after")
			other := ""
			if c.second {
				neartest.Record(t, r, lag)
				other = trackerID(t, before)
			}
			w := neartest.Record(t, r, lag)
			if got := get(t, r, "user:1"); string(got.Value) != "before" {
				t.Fatalf("%+v", got)
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() { // a connection is dialed when it is needed
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						if !c.quiet {
							_, _ = r.Get(context.Background(), "user:1")
						}
					}
				}
			}()
			defer func() { close(stop); <-stopped }()
			w.AwaitAgain(t, "the other server", func() {
				to.Store(&after.Addr)
				c.cut(t, before, other)
			})
			if got := get(t, r, "user:1"); string(got.Value) != "after" {
				t.Errorf("%+v", got)
			}
			n := count(w, "user:1")
			do(t, after, "SET", "user:1", "newer")
			w.Await(t, "a change there", func() bool { return countLocked(w, "user:1") > n })
		})
	}
}
