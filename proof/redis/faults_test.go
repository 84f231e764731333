package redis_test

import (
	"bufio"
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
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

var rounds = flag.Int("redis.rounds", 1, "have each fault this many times, and from 2 on also in each direction")

// TestServerFaults causes faults of the server while three instances read and write.
//
// Catches: a fault after which an instance serves a version replaced more than MaxLag ago.
func TestServerFaults(t *testing.T) {
	inEachWay(t, func(t *testing.T, way []string) {
		for _, c := range serverFaults {
			t.Run(c.name, func(t *testing.T) { testServerFault(t, c, way) })
		}
	})
}

// ways have the arguments of servers that tell of changes in one way or the other.
var ways = map[string][]string{"tracking": nil, "keyspace": redistest.WithoutTracking}

func inEachWay(t *testing.T, test func(t *testing.T, way []string)) {
	for name, args := range ways {
		t.Run(name, func(t *testing.T) { test(t, args) })
	}
}

func testServerFault(t *testing.T, c serverFault, way []string) {
	t.Parallel()
	s := server(t, append(slices.Clone(c.args), way...)...)
	f := connect(t, redis.Options{}, s.Addr)
	f.Run(t, func() {
		for range 2 * *rounds {
			c.fault(t, s)
			time.Sleep(c.pause)
		}
	})
	f.Verdict(t)
	if c.name == "evictions" && evicted(t, s) == 0 {
		t.Error("nothing was evicted")
	}
	for _, one := range f.Instances() {
		if n := one.Stats().Near.Restored; n > 0 {
			t.Errorf("back from a snapshot %d times: none was saved", n)
		}
	}
	for _, one := range f.Instances() { // a busy machine may be late a few times
		if n := one.Stats().Near; c.name == "full" && n.StoreErrors > n.Fetches/4 {
			t.Errorf("a server that can be read counts as away: %d errors, %d fetches", n.StoreErrors, n.Fetches)
		}
	}
}

// A serverFault is one of a server, with the start of the server and a pause after the fault.
type serverFault struct {
	name  string
	args  []string
	pause time.Duration
	fault func(t *testing.T, s *redistest.Server)
}

var serverFaults = []serverFault{
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
	{"full", []string{"--maxmemory-policy", "noeviction"}, 0, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "maxmemory", "1") // from now on it refuses to write, but not to remove
		time.Sleep(3 * maxLag)
		do(t, s, "CONFIG", "SET", "maxmemory", "0")
	}},
	{"DEBUG SLEEP", []string{"--enable-debug-command", "yes"}, maxLag, func(t *testing.T, s *redistest.Server) {
		do(t, s, "DEBUG", "SLEEP", "0.5")
	}},
}

// TestSwappedDatabase has the database swapped for another one, which no server tells of, so it is noticed
// only where a key of each watch is looked at.
//
// Catches: a watch that vouches for what another database had.
func TestSwappedDatabase(t *testing.T) {
	testServerFault(t, serverFault{name: "SWAPDB", pause: 50 * time.Millisecond, fault: func(t *testing.T, s *redistest.Server) {
		do(t, s, "SWAPDB", "0", "1")
	}}, redistest.WithoutTracking)
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

// TestSnapshotRestart kills the server and starts it again from a snapshot, which has leases whose
// holders go on or are gone. Nobody removes meanwhile: what a snapshot brings back is not promised.
//
// Catches: an instance that does not come back, or that waits for a lease whose holder has gone.
func TestSnapshotRestart(t *testing.T) {
	t.Parallel()
	s := server(t)
	f := connect(t, redis.Options{}, s.Addr)
	f.Run(t, func() {
		for range 3 * *rounds {
			time.Sleep(rand.N(maxLag))
			f.db.hold(func() {
				do(t, s, "SAVE")
				s.Kill()
				check(t, s.Restart())
			})
			loaded, err := s.Do("DBSIZE")
			check(t, err)
			if n, _ := loaded.AsInt64(); n == 0 {
				t.Error("the snapshot was not loaded")
			}
			time.Sleep(2 * maxLag)
		}
	})
	f.Verdict(t)
	for i, one := range f.Instances() {
		if n := one.Stats().Near; n.Restored == 0 || n.RoundTrip == 0 {
			t.Errorf("instance %d: back from a snapshot %d times, a question takes %v", i, n.Restored, n.RoundTrip)
		}
	}
}

// TestOutageSparesTheDatabase kills the server for a while.
//
// Catches: an instance that loads a row more often than it must, as it may serve what it has
// loaded for three quarters of MaxLag at least.
func TestOutageSparesTheDatabase(t *testing.T) {
	t.Parallel()
	s := server(t)
	f := connect(t, redis.Options{}, s.Addr)
	f.db.remove = foreignDel(t, s) // an instance that removes must load anew
	f.Run(t, func() {
		time.Sleep(maxLag)
		s.Kill()
		before, began := f.Loads(), time.Now()
		time.Sleep(10 * maxLag)
		loads, took := f.Loads()-before, time.Since(began)
		if most := neartest.Rows * instances * int(took/(maxLag/4*3)+2); loads > most {
			t.Errorf("%d loads in an outage of %v: want at most %d", loads, took, most)
		}
		check(t, s.Restart())
	})
	f.Verdict(t)
}

var directions = map[string][]neartest.Direction{
	"to": {neartest.ToServer}, "from": {neartest.FromServer}, "both": {neartest.ToServer, neartest.FromServer},
}

// TestNetworkFaults breaks the way of the instances to Redis and back, each alone. Writers use
// another way.
//
// Catches: a silent connection that is trusted for longer than MaxLag, a broken one that is
// not replaced, answers and changes that overtake each other, messages in pieces.
func TestNetworkFaults(t *testing.T) {
	inEachWay(t, testNetworkFaults)
}

func testNetworkFaults(t *testing.T, way []string) {
	for fault, f := range neartest.Faults {
		for name, directions := range directions {
			if *rounds == 1 && fault != "stall" && name != "from" {
				continue
			}
			t.Run(fault+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := server(t, way...)
				p := neartest.NewProxy(t, s.Addr)
				fleet := connect(t, redis.Options{}, p.Addr)
				fleet.db.remove = foreignDel(t, s)
				fleet.Run(t, func() {
					for range *rounds {
						time.Sleep(rand.N(maxLag / 2))
						p.Suffer(f, 3*maxLag/2, directions...)
					}
				})
				fleet.Verdict(t)
			})
		}
	}
}

// TestMixedFleet lets a program without near caches write: it removes or overwrites the copy
// in Redis by a plain client.
//
// Catches: an instance that sees only changes by near caches.
func TestMixedFleet(t *testing.T) {
	s := server(t)
	f := connect(t, redis.Options{}, s.Addr)
	f.db.remove = foreignDel(t, s)
	f.Run(t, func() { time.Sleep(maxLag) })
	f.Verdict(t)
}

// TestBusyScript has writers remove keys in the same round of the server's event loop as a
// script that runs for longer than MaxLag: the removal is acknowledged during the script, and
// told after it.
//
// Catches: a source that takes an answer of a busy server for a sign that all has been told.
func TestBusyScript(t *testing.T) { inEachWay(t, testBusyScript) }

func testBusyScript(t *testing.T, way []string) {
	t.Parallel()
	s := server(t, append([]string{"--busy-reply-threshold", "10"}, way...)...)
	f := connect(t, redis.Options{}, s.Addr)
	var busy atomic.Int64
	plain := foreignDel(t, s)
	f.db.remove = func(ctx context.Context, row int) error {
		if rand.N(300) > 0 {
			return plain(ctx, row)
		}
		busy.Add(1)
		return delThenBusy(s, keyOf(row), 2*maxLag)
	}
	f.Run(t, func() { time.Sleep(time.Duration(10**rounds) * maxLag) })
	f.Verdict(t)
	if busy.Load() == 0 {
		t.Error("the server was never busy")
	}
}

// delThenBusy removes a key and runs a script, in the same round of the server's event loop. It
// returns when the removal is acknowledged.
func delThenBusy(s *redistest.Server, key string, busy time.Duration) error {
	const script = "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end " +
		"local e = now() + ARGV[1] while now() < e do end"
	del, eval, err := dialTwo(s.Addr)
	if err != nil {
		return err
	}
	defer del.Close()
	defer eval.Close()
	err = s.Pause()
	time.Sleep(10 * time.Millisecond) // until it stands still
	_, err2 := fmt.Fprintf(del, "DEL %s\r\n", key)
	_, err3 := fmt.Fprintf(eval, "EVAL \"%s\" 0 %d\r\n", script, busy.Milliseconds())
	if err := errors.Join(err, err2, err3, s.Resume()); err != nil {
		return err
	}
	return answered(del, ':')
}

// dialTwo returns two connections that the server has accepted.
func dialTwo(addr string) (one, other net.Conn, err error) {
	if one, err = dialAccepted(addr); err != nil {
		return nil, nil, err
	}
	if other, err = dialAccepted(addr); err != nil {
		one.Close()
	}
	return one, other, err
}

func dialAccepted(addr string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintf(conn, "PING\r\n"); err == nil {
		err = answered(conn, '+')
	}
	if err != nil {
		conn.Close()
	}
	return conn, err
}

// answered reads a line, which must be of a kind.
func answered(conn net.Conn, kind byte) error {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && line[0] != kind {
		err = errors.New(line)
	}
	return err
}

// Catches: an oracle that finds nothing when 85 % of the changes are lost.
func TestOracleSeesLostChanges(t *testing.T) {
	s := server(t)
	f := connectBy(t, func(source near.Source) near.Source { return neartest.Drop(source, 0.85) }, redis.Options{}, s.Addr)
	f.Run(t, func() { awaitStale(f) })
	t.Log(f)
	if f.Stale() == 0 {
		t.Error("the oracle finds nothing")
	}
}

// awaitStale returns when an answer was too old, or after half a minute: a busy machine excuses
// those that come at once.
func awaitStale(f *fleet) {
	for end := time.Now().Add(30 * time.Second); f.Stale() == 0 && time.Now().Before(end); {
		time.Sleep(maxLag)
	}
}
