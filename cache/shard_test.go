package cache

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestArraysGrowAndShrink checks that memory follows the number of entries, up and down.
func TestArraysGrowAndShrink(t *testing.T) {
	c := Must(Options[int, int]{Expire: time.Hour})
	const n = 100_000
	for k := range n {
		c.Set(k, k)
	}
	if got := slotsOf(c); got < n || got > 4*n {
		t.Errorf("%d slots for %d entries", got, n)
	}
	for k := range n {
		if k%100 != 0 {
			c.Del(k)
		}
	}
	if got := slotsOf(c); got > n/100*sparse*2 {
		t.Errorf("%d slots for %d entries", got, n/100)
	}
	for k := 0; k < n; k += 100 {
		if v, ok := c.Get(k); v != k || !ok {
			t.Fatalf("Get(%d) = %d, %v", k, v, ok)
		}
	}
	wantWhole(t, c)
	c.Clear()
	if got := slotsOf(c); got > minSlots*len(c.common.table.Load().shards) {
		t.Errorf("%d slots for nothing", got)
	}
}

// TestStatsHoldsOneShard checks that while Stats waits for one shard the others can be
// used.
func TestStatsHoldsOneShard(t *testing.T) {
	c := fourShards()
	last := &c.common.table.Load().shards[len(c.common.table.Load().shards)-1]
	r := last.lock.RLock() // the lock for writing waits for this one
	done, used := make(chan struct{}), make(chan struct{})
	go func() {
		c.Stats()
		close(done)
	}()
	for !isLockingIn(").Stats(") {
		time.Sleep(time.Millisecond)
	}
	go func() {
		c.common.table.Load().shards[0].lock.Lock()
		close(used)
		c.common.table.Load().shards[0].lock.Unlock()
	}()
	select {
	case <-used:
	case <-time.After(time.Minute):
		t.Error("a shard is held while Stats waits for another")
	}
	last.lock.RUnlock(r)
	<-done
}

// TestRecordLeavesNothing checks that after a recording the cache is as before, so that
// operations take no longer, and that hot keys and estimates go on meanwhile.
func TestRecordLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []Options[int, int]{{Limit: 10}, {Limit: 10, Ages: true}, {Limit: 10, WhatIf: true, HotKeys: 3}} {
			c := Must(o)
			before := c.common.watch.Load()
			ctx, cancel := context.WithCancel(t.Context())
			go c.Record(ctx, io.Discard, 1)
			synctest.Wait()
			for range 2000 {
				c.Get(1)
			}
			if !c.common.table.Load().shards[0].noted || c.common.watch.Load().record == nil {
				t.Error("it does not record")
			}
			cancel()
			synctest.Wait()
			if c.common.watch.Load() != before || c.common.table.Load().shards[0].noted != (o.Ages || before != nil) {
				t.Errorf("%+v: the watch is %v, and noted %v", o, c.common.watch.Load(), c.common.table.Load().shards[0].noted)
			}
			if o.HotKeys > 0 && (len(c.HotKeys()) != 1 || c.Stats().WhatIf.Gets != 2000) {
				t.Errorf("hot keys %v, what if %+v", c.HotKeys(), c.Stats().WhatIf)
			}
		}
	})
}
