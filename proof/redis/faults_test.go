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
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
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
			f.Run(t, nil, func() {
				for range 2 * *rounds {
					c.fault(t, s)
					time.Sleep(c.pause)
				}
			})
			f.Verdict(t)
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
			f.Run(t, f.Revoke, func() {
				time.Sleep(9 * time.Second) // until the list of the instances is old enough
				for range 2 * *rounds {
					c.fault(t, s)
					time.Sleep(c.pause)
				}
			})
			f.Verdict(t)
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

// TestSnapshot kills Redis, which begins again with a snapshot. A write counts when a snapshot
// has it: no cache can know what Redis forgets.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := server(t)
	do(t, s, "SET", "kept", "1")
	f := newFleet(t, redis.Options{}, s.Addr)
	f.Run(t, foreignDel(t, s, "SAVE"), func() {
		for range 2 * *rounds {
			time.Sleep(maxLag)
			restart(t, s)
			if _, err := s.Do("GET", "kept"); err != nil {
				t.Error("the snapshot: ", err)
			}
			time.Sleep(maxLag)
		}
	})
	f.Verdict(t)
}

// TestCallersLeave stops Redis until all calls have returned: only their contexts can end them.
//
// Catches: a call that outlives its context.
func TestCallersLeave(t *testing.T) {
	t.Parallel()
	s := server(t)
	f := &fleet{}
	f.connect(t, redis.Options{Client: rueidis.ClientOption{InitAddress: []string{s.Addr}, ConnWriteTimeout: time.Hour}})
	check(t, s.Pause())
	for key := range neartest.Keys / 4 { // until after MaxLag
		ctx, cancel := context.WithTimeout(t.Context(), maxLag/10)
		_, _ = f.caches[0].Take(ctx, key, func(context.Context) (int, error) { return 0, nil }) // it asks nobody any more
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), maxLag/10)
		if err := f.Del(ctx, 0, key); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a Del: %v", err)
		}
		cancel()
	}
	check(t, s.Resume())
}
