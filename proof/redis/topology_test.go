package redis_test

import (
	"context"
	"testing"
	"time"

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
	f := newFleet(t, o, servers.Addrs()...)
	killed := make(chan struct{})
	f.runWith(t, func(ctx context.Context, instance, key int) error {
		if err := f.del(ctx, instance, key); err != nil {
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
		for i, c := range f.caches { // one after the other: a stall may interrupt any again
			for end := time.Now().Add(patience); ; time.Sleep(maxLag / 10) {
				if n := c.Stats().Near; n.Reconnects > 0 && n.Serving {
					break
				} else if time.Now().After(end) {
					t.Errorf("instance %d serves nothing after the failover: %+v", i, n)
					break
				}
			}
		}
	})
	f.verdict(t)
}

// TestSlotMigration moves slots, with their keys, between three masters and to a fourth
// that joins, while three instances read and write.
func TestSlotMigration(t *testing.T) {
	t.Parallel()
	c, err := redistest.StartCluster(3)
	redistest.Started(t, c, err)
	f := newFleet(t, redis.Options{}, c.Masters[0].Addr)
	f.run(t, func() {
		for key := range keys {
			from, slot, err := c.Owner(keyOf(key))
			check(t, err)
			to := c.Masters[key%len(c.Masters)]
			if to != from {
				check(t, c.Migrate(slot, from, to))
			}
			if key == keys/2 {
				fourth, err := redistest.StartNode()
				check(t, err)
				check(t, c.Join(fourth)) // and Stop stops it
			}
			time.Sleep(maxLag / 10)
		}
	})
	f.verdict(t)
}
