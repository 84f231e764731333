package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// TestFailover kills the master, so that Sentinels promote the replica, while three instances
// read and write. A write counts when the replica, if any, has it too: no cache can know
// what a failover loses.
func TestFailover(t *testing.T) {
	t.Parallel()
	servers, err := redistest.StartFailover(3)
	redistest.Started(t, servers, err)
	o := redis.Options{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}
	f := connect(t, o, servers.Addrs()...)
	killed := make(chan struct{})
	f.db.remove = func(ctx context.Context, row int) error {
		if err := f.del(ctx, row); err != nil {
			return err
		}
		select {
		case <-killed:
			return nil
		default:
			return servers.Sync()
		}
	}
	f.Run(t, func() {
		time.Sleep(maxLag)
		servers.Master.Kill()
		close(killed)
		for end := time.Now().Add(30 * time.Second); !f.servesAgain() && time.Now().Before(end); {
			time.Sleep(maxLag / 10)
		}
	})
	f.Verdict(t)
	for i, c := range f.Instances() { // on a busy machine a beat may be late
		for end := time.Now().Add(time.Minute); !c.Stats().Near.Serving; time.Sleep(maxLag / 10) {
			if time.Now().After(end) {
				t.Fatalf("instance %d serves nothing after the failover", i)
			}
		}
	}
}

// servesAgain reports whether every instance has lost its connection and has a new one.
func (f *fleet) servesAgain() bool {
	for _, c := range f.Instances() {
		if n := c.Stats().Near; n.Reconnects == 0 || !n.Serving {
			return false
		}
	}
	return true
}

// TestSwitchedAddress has the address lead to another server, as a balancer does, while the old one
// stays, and the connections by which it is watched. Nobody removes until all instances have noticed,
// which they do when connections for reading end.
//
// Catches: an instance that reads from one server and watches another.
func TestSwitchedAddress(t *testing.T) {
	t.Parallel()
	now, next := server(t), server(t)
	p := neartest.NewProxy(t, now.Addr)
	f := connect(t, redis.Options{}, p.Addr)
	removers := map[*redistest.Server]del{now: foreignDel(t, now), next: foreignDel(t, next)}
	f.db.remove = func(ctx context.Context, row int) error { return removers[now](ctx, row) }
	f.Run(t, func() {
		for range 3 * *rounds {
			time.Sleep(maxLag + rand.N(maxLag))
			f.db.hold(func() {
				noticed := f.lose()
				do(t, next, "FLUSHALL")
				p.Lead(next.Addr)
				cutReaders(t, now)
				now, next = next, now
				for end := time.Now().Add(10 * time.Second); !noticed() && time.Now().Before(end); {
					time.Sleep(maxLag / 10)
				}
			})
		}
	})
	f.Verdict(t)
}

// lose returns a function that reports whether every instance has lost its connection since.
func (f *fleet) lose() (lost func() bool) {
	var before []uint64
	for _, c := range f.Instances() {
		before = append(before, c.Stats().Near.Reconnects)
	}
	return func() bool {
		for i, c := range f.Instances() {
			if c.Stats().Near.Reconnects == before[i] {
				return false
			}
		}
		return true
	}
}

// cutReaders ends the connections of instances that are not told of changes.
func cutReaders(t *testing.T, s *redistest.Server) {
	t.Helper()
	list, err := s.Do("CLIENT", "LIST")
	check(t, err)
	text, err := list.ToString()
	check(t, err)
	for line := range strings.Lines(strings.TrimPrefix(text, "txt:")) {
		var id string
		_, flags, _ := strings.Cut(line, " flags=")
		flags, _, _ = strings.Cut(flags, " ")
		if _, err := fmt.Sscanf(line, "id=%s", &id); err == nil && !strings.Contains(flags, "B") {
			_, _ = s.Do("CLIENT", "KILL", "ID", id) // it may be gone
		}
	}
}

// TestSlotMigration moves slots, with their keys, between three masters and to a fourth
// that joins, while three instances read and write.
func TestSlotMigration(t *testing.T) { inEachWay(t, testSlotMigration) }

func testSlotMigration(t *testing.T, way []string) {
	t.Parallel()
	c, err := redistest.StartCluster(3, way...)
	redistest.Started(t, c, err)
	f := connect(t, redis.Options{}, c.Masters[0].Addr)
	f.Run(t, func() {
		for key := range neartest.Rows {
			from, slot, err := c.Owner(keyOf(key))
			check(t, err)
			to := c.Masters[key%len(c.Masters)]
			if to != from {
				check(t, c.Migrate(slot, from, to))
			}
			if key == neartest.Rows/2 {
				fourth, err := redistest.StartNode(way...)
				check(t, err)
				check(t, c.Join(fourth)) // and Stop stops it
			}
			time.Sleep(maxLag / 10)
		}
	})
	f.Verdict(t)
}
