package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
)

// fourShards returns a cache without a limit whose keys are in shard key mod 4.
func fourShards() *Cache[int, int] {
	c := Must(Options[int, int]{})
	c.setShards(4)
	c.common.hasher = hash.FromFunc(func(k int) uint64 { return uint64(k&3) << 8 })
	return c
}

// TestSetDuringResize stores while a Resize is halfway: shards that are not limited, any
// more or yet, cannot make room.
func TestSetDuringResize(t *testing.T) {
	t.Run("to a limit", func(t *testing.T) {
		c := fourShards()
		c.Set(0, 0)
		c.Set(2, 0)
		c.common.size.budget.max.Store(1)
		c.common.table.Load().shards[0].setLimited(true)
		c.common.table.Load().shards[1].setLimited(true)
		c.Set(1, 0)
		if _, ok := c.Get(1); !ok {
			t.Error("Set stored nothing")
		}
	})
	t.Run("to none", func(t *testing.T) {
		for range 20 { // which shard makes room is random
			c := fourShards()
			if err := c.Resize(1); err != nil {
				t.Fatal(err)
			}
			c.Set(1, 0)
			c.common.table.Load().shards[0].setLimited(false)
			c.Set(0, 0)
			c.Set(3, 0)
			for i := range c.common.table.Load().shards {
				c.common.table.Load().shards[i].setLimited(false)
			}
			if used := c.common.size.budget.used.Load(); used != 0 {
				t.Errorf("%d of the budget in use by nobody", used)
			}
		}
	})
}

// TestShrinkingKeepsTTLs checks that an entry with Idle that moves to another slot when
// its shard shrinks keeps its end by TTL.
func TestShrinkingKeepsTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: 1000, Expire: time.Minute, Idle: 10 * time.Second})
		defer c.Close(context.Background())
		for key := range 999 {
			c.SetWithExpire(key, key, 15*time.Second) // what its slot is not to inherit
		}
		c.Set(999, 999)
		for key := range 999 {
			c.Del(key)
		}
		if n := len(c.common.table.Load().shards[0].entries); n >= 1000 {
			t.Fatalf("%d slots: the shard has not shrunk", n)
		}
		for range 11 {
			time.Sleep(5 * time.Second)
			if _, ok := c.Get(999); !ok {
				t.Fatal("an entry that is read every 5 s was idle for 10")
			}
		}
		time.Sleep(5 * time.Second)
		if _, ok := c.Get(999); ok {
			t.Error("an entry outlived its TTL")
		}
	})
}

// TestResizeRefuses checks that a bad limit is an ErrArgument and changes nothing.
func TestResizeRefuses(t *testing.T) {
	counted := Must(Options[int, int]{Limit: 2})
	weighed := Must(Options[int, int]{MaxWeight: 2, Weigh: func(_, v int) uint32 { return uint32(v) }})
	for _, err := range []error{counted.Resize(-1), weighed.Resize(1), weighed.ResizeWeight(0), counted.ResizeWeight(1)} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("Resize = %v, want an ErrArgument", err)
		}
	}
	if got := counted.Stats().Limit; got != 2 {
		t.Errorf("the limit is %d, want 2", got)
	}
}
