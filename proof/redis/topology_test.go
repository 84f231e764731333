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
		for end := time.Now().Add(30 * time.Second); !f.servesAgain() && time.Now().Before(end); {
			time.Sleep(maxLag / 10)
		}
	})
	f.verdict(t)
	for i, c := range f.caches {
		if !c.Stats().Near.Serving {
			t.Errorf("instance %d serves nothing after the failover", i)
		}
	}
}

// servesAgain reports whether every instance has lost its connection and has a new one.
func (f *fleet) servesAgain() bool {
	for _, c := range f.caches {
		if n := c.Stats().Near; n.Reconnects == 0 || !n.Serving {
			return false
		}
	}
	return true
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
