package redis_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

var rounds = flag.Int("redis.rounds", 1, "have each fault this many times, and from 2 on also in each direction")

// TestServerFaults causes faults of the server while three instances read and write.
//
// Catches: a fault after which an instance serves a version replaced more than MaxLag ago.
func TestServerFaults(t *testing.T) {
	for _, c := range serverFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := server(t, c.args...)
			f := newFleet(t, redis.Options{}, s.Addr)
			f.run(t, func() {
				for range 2 * *rounds {
					c.fault(t, s)
					time.Sleep(c.pause)
				}
			})
			f.verdict(t)
			if c.name == "evictions" && evicted(t, s) == 0 {
				t.Error("nothing was evicted")
			}
		})
	}
}

// serverFaults are faults of servers, each with the start of the server and a pause after the
// fault.
var serverFaults = []struct {
	name  string
	args  []string
	pause time.Duration
	fault func(t *testing.T, s *redistest.Server)
}{
	{"none", nil, 0, func(*testing.T, *redistest.Server) { time.Sleep(maxLag) }},
	{"FLUSHALL", nil, 50 * time.Millisecond, func(t *testing.T, s *redistest.Server) { do(t, s, "FLUSHALL") }},
	{"tiny tracking table", []string{"--tracking-table-max-keys", "10"}, 0, func(*testing.T, *redistest.Server) { time.Sleep(maxLag) }},
	{"evictions", []string{"--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random"}, 0, func(t *testing.T, s *redistest.Server) {
		for i := range 40 {
			do(t, s, "SET", fmt.Sprint("filler:", i), strings.Repeat("x", 100_000))
		}
	}},
	{"CLIENT KILL", nil, 100 * time.Millisecond, func(t *testing.T, s *redistest.Server) { do(t, s, "CLIENT", "KILL", "TYPE", "normal") }},
	{"SIGSTOP", nil, maxLag, func(t *testing.T, s *redistest.Server) {
		check(t, s.Pause())
		time.Sleep(rand.N(3 * maxLag))
		check(t, s.Resume())
	}},
	{"SIGKILL", nil, maxLag, func(t *testing.T, s *redistest.Server) {
		s.Kill()
		time.Sleep(rand.N(maxLag))
		check(t, s.Restart())
	}},
	{"DEBUG SLEEP", []string{"--enable-debug-command", "yes"}, maxLag, func(t *testing.T, s *redistest.Server) {
		do(t, s, "DEBUG", "SLEEP", "0.5")
	}},
}

// evicted returns how many keys a server has evicted.
func evicted(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	reply, err := s.Do("INFO", "stats")
	check(t, err)
	info, err := reply.ToString()
	check(t, err)
	_, rest, _ := strings.Cut(info, "evicted_keys:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMixedFleet lets a program without near caches write: it removes or overwrites the copy
// in Redis by a plain client.
//
// Catches: an instance that sees only changes by near caches.
func TestMixedFleet(t *testing.T) {
	s := server(t)
	f := newFleet(t, redis.Options{}, s.Addr)
	f.runWith(t, f.foreignDel(t, s), func() { time.Sleep(maxLag) })
	f.verdict(t)
}

// A dropper is a source that loses most changes unnoticed.
type dropper struct {
	near.Source
	dropped *atomic.Int64
}

func (d dropper) Watch(ctx context.Context, w near.Watcher) {
	d.Source.Watch(ctx, droppingWatcher{w, d.dropped})
}

type droppingWatcher struct {
	near.Watcher
	dropped *atomic.Int64
}

func (d droppingWatcher) MaxLag() time.Duration { return near.MaxLag(d.Watcher) }

func (d droppingWatcher) Changed(keys ...string) {
	for _, key := range keys {
		if rand.N(100) < 85 {
			d.dropped.Add(1)
		} else {
			d.Watcher.Changed(key)
		}
	}
}

// Catches: an oracle that finds nothing when 85 % of the changes are lost.
func TestOracleSeesLostChanges(t *testing.T) {
	s := server(t)
	f := &fleet{leave: someLeave}
	var dropped atomic.Int64
	for range instances {
		f.connect(t, redis.Options{Client: rueidis.ClientOption{InitAddress: []string{s.Addr}}}, func(s near.Source) near.Source { return dropper{s, &dropped} })
	}
	f.run(t, f.untilStale)
	t.Log(f)
	if f.stale == 0 || dropped.Load() == 0 {
		t.Errorf("%d changes were dropped, and %d reads were found stale", dropped.Load(), f.stale)
	}
}
