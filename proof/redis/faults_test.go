package redis_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
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
		eachMode(t, c.name, []string{"FLUSHALL", "evictions", "CLIENT KILL", "SIGSTOP", "SIGKILL", "busy script"}, func(t *testing.T, args []string) {
			s := server(t, slices.Concat(c.args, args)...)
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

// TestRemovedFromTheFleet removes keys from the whole fleet while the server has faults.
//
// Catches: an instance that returns what had been removed before the call.
func TestRemovedFromTheFleet(t *testing.T) {
	for _, c := range serverFaults {
		eachMode(t, c.name, []string{"CLIENT KILL"}, func(t *testing.T, args []string) {
			s := server(t, slices.Concat(c.args, args)...)
			f := newFleet(t, redis.Options{}, s.Addr)
			f.runWith(t, f.remove, func() {
				time.Sleep(9 * time.Second) // until the list of the instances is old enough
				for range 2 * *rounds {
					c.fault(t, s)
					time.Sleep(c.pause)
				}
			})
			f.verdict(t)
		})
	}
}

// eachMode runs a test in parallel, with the arguments of a server that tracks, and of one that
// refuses to and sends keyspace notifications. The latter is for some names unless there are more rounds.
func eachMode(t *testing.T, name string, some []string, test func(t *testing.T, args []string)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	if *rounds > 1 || slices.Contains(some, name) {
		t.Run(name+" by notifications", func(t *testing.T) {
			t.Parallel()
			test(t, []string{"--notify-keyspace-events", "KA", "--user", "default", "on", "nopass", "~*", "&*", "+@all", "-client|tracking"})
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
	{"CLIENT KILL", nil, 100 * time.Millisecond, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
		time.Sleep(rand.N(maxLag))
		do(t, s, "CLIENT", "KILL", "TYPE", "normal")
	}},
	{"SIGSTOP", nil, maxLag, func(t *testing.T, s *redistest.Server) {
		check(t, s.Pause())
		time.Sleep(rand.N(3 * maxLag))
		check(t, s.Resume())
	}},
	{"SIGKILL", nil, maxLag, restart},
	{"DEBUG SLEEP", []string{"--enable-debug-command", "yes"}, maxLag, func(t *testing.T, s *redistest.Server) {
		do(t, s, "DEBUG", "SLEEP", "0.5")
	}},
	{"busy script", []string{"--busy-reply-threshold", "100"}, maxLag, beBusy},
	{"full", nil, maxLag, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "maxmemory-policy", "noeviction")
		do(t, s, "CONFIG", "SET", "maxmemory", "1")
		if _, err := s.Do("SET", "filler", ""); err == nil {
			t.Error("a full server takes a value")
		}
		time.Sleep(rand.N(2 * maxLag))
		do(t, s, "CONFIG", "SET", "maxmemory", "3mb")
		do(t, s, "CONFIG", "SET", "maxmemory-policy", "allkeys-random")
	}},
}

func restart(t *testing.T, s *redistest.Server) {
	s.Kill()
	time.Sleep(rand.N(maxLag))
	check(t, s.Restart())
}

// beBusy runs a script for some time. Redis begins it in the same round of its event loop in
// which it removes what writers wait for, answers them while the script runs, and tells of the
// removals when it ends.
func beBusy(t *testing.T, s *redistest.Server) {
	conn, err := net.Dial("tcp", s.Addr)
	check(t, err)
	defer conn.Close()
	check(t, conn.SetDeadline(time.Now().Add(patience)))
	ask := func(line string) { _, err := conn.Write([]byte(line + "\r\n")); check(t, err) }
	answer := func() { _, err := conn.Read(make([]byte, 1000)); check(t, err) }
	ask("PING")
	answer() // from now on Redis reads this connection after those that were written to before
	check(t, s.Pause())
	time.Sleep(maxLag / 10) // all writers wait
	ask("EVAL 'while true do end' 0")
	check(t, s.Resume())
	time.Sleep(3 * maxLag)
	do(t, s, "SCRIPT", "KILL")
	answer()
}

// evicted returns how many keys a server has evicted.
func evicted(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	_, rest, _ := strings.Cut(do(t, s, "INFO", "stats"), "evicted_keys:")
	_, err := fmt.Sscan(rest, &n)
	check(t, err)
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

// TestSnapshot kills Redis, which begins again with a snapshot. A write counts when a snapshot
// has it: no cache can know what Redis forgets.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := server(t)
	do(t, s, "SET", "kept", "1")
	f := newFleet(t, redis.Options{}, s.Addr)
	f.runWith(t, f.foreignDel(t, s, "SAVE"), func() {
		for range 2 * *rounds {
			time.Sleep(maxLag)
			restart(t, s)
			if _, err := s.Do("GET", "kept"); err != nil {
				t.Error("the snapshot: ", err)
			}
			time.Sleep(maxLag)
		}
	})
	f.verdict(t)
}

// TestCallersLeave stops Redis until all calls have returned: only their contexts can end them.
//
// Catches: a call that outlives its context.
func TestCallersLeave(t *testing.T) {
	t.Parallel()
	s := server(t)
	f := &fleet{}
	f.connect(t, redis.Options{Client: rueidis.ClientOption{InitAddress: []string{s.Addr}, ConnWriteTimeout: time.Hour}}, nil)
	check(t, s.Pause())
	inTime(t, "calls", func() {
		for key := range keys / 4 { // until after MaxLag
			f.read(t.Context(), maxLag/10, f.caches[0], key)
			ctx, cancel := context.WithTimeout(t.Context(), maxLag/10)
			if err := f.del(ctx, 0, key); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a Del: %v", err)
			}
			cancel()
		}
	})
	check(t, s.Resume())
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
