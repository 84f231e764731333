package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/redis/rueidis"
)

// TestFailover kills the master, so that Sentinels promote the replica, and then leaves the
// instances alone with one Sentinel, which learns of no failover, while they read and write. A write counts when the replica, if any, has it too: no cache can know
// what a failover loses.
func TestFailover(t *testing.T) {
	t.Parallel()
	servers, err := redistest.StartFailover(3)
	redistest.Started(t, servers, err)
	o := redis.Options{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}
	f := newFleet(t, o, servers.Addrs()...)
	killed := make(chan struct{})
	f.Run(t, func(ctx context.Context, instance, key int) error {
		if err := f.Del(ctx, instance, key); err != nil {
			return err
		}
		select {
		case <-killed:
			return nil
		default:
			return servers.Sync()
		}
	}, func() {
		time.Sleep(maxLag)
		servers.Master.Kill()
		close(killed)
		f.await(t, "to serve after the failover", func(n stats.Near) bool { return n.Reconnects > 0 && n.Serving })
		for _, s := range servers.Sentinels[1:] {
			check(t, s.Pause())
		}
		f.await(t, "to serve no longer without a quorum", func(n stats.Near) bool { return !n.Serving })
		for _, s := range servers.Sentinels[1:] {
			check(t, s.Resume())
		}
		f.await(t, "to serve again", func(n stats.Near) bool { return n.Serving })
	})
	f.Verdict(t)
}

// await waits for each instance, one after the other: a stall may interrupt any again.
func (f *fleet) await(t *testing.T, what string, is func(stats.Near) bool) {
	t.Helper()
	for i, c := range f.caches {
		for end := time.Now().Add(patience); !is(c.Stats().Near); time.Sleep(maxLag / 10) {
			if time.Now().After(end) {
				t.Errorf("instance %d was awaited %s: %+v", i, what, c.Stats().Near)
				return
			}
		}
	}
}

// TestSlotMigration stops masters of a cluster for some time, one after another, and moves slots,
// with their keys, between them and to a fourth that joins, while three instances read and write.
func TestSlotMigration(t *testing.T) {
	t.Parallel()
	c, err := redistest.StartCluster(3)
	redistest.Started(t, c, err)
	f := newFleet(t, redis.Options{}, c.Masters[0].Addr)
	f.Run(t, nil, func() {
		for i := range len(c.Masters) * *rounds {
			s := c.Masters[i%len(c.Masters)]
			check(t, s.Pause())
			time.Sleep(3 * maxLag)
			check(t, s.Resume())
			time.Sleep(maxLag)
		}
		for key := range neartest.Keys {
			from, slot, err := c.Owner(keyOf(key))
			check(t, err)
			to := c.Masters[key%len(c.Masters)]
			if to != from {
				check(t, c.Migrate(slot, from, to))
			}
			if key == neartest.Keys/2 {
				fourth, err := redistest.StartNode()
				check(t, err)
				check(t, c.Join(fourth)) // and Stop stops it
			}
			time.Sleep(maxLag / 10)
		}
	})
	f.Verdict(t)
}
