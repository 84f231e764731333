package cache

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestComputeShortWays checks what the short ways of Compute leave behind: the value, its weight
// and TTL, what the statistics count, no fence, and a load of the key that is stale if the key was
// changed.
func TestComputeShortWays(t *testing.T) {
	const hour = time.Hour
	for name, o := range map[string]Options[int, int]{
		"plain":   {Limit: 100, Expire: hour},
		"weighed": {MaxWeight: 100, Expire: hour, Weigh: func(_, v int) uint32 { return uint32(v) }},
		"told":    {Limit: 100, Expire: hour, OnRemove: func(Event[int, int]) {}},
		"idle":    {Limit: 100, Expire: hour, Idle: hour},
	} {
		for _, op := range []Op{OpKeep, OpSet, OpDelete} {
			for _, found := range []bool{true, false} {
				for _, expire := range []time.Duration{hour, 2 * hour, time.Minute, 0, -1} { // hour: that of Compute
					for _, value := range []int{5, 7} {
						what := fmt.Sprintf("%s: op %d of %d, found %v, TTL %v", name, op, value, found, expire)
						checkCompute(t, what, o, op, found, expire, value)
					}
				}
			}
		}
	}
}

func checkCompute(t *testing.T, what string, o Options[int, int], op Op, found bool, expire time.Duration, value int) {
	t.Helper()
	c := Must(o)
	want, live := 0, false
	if found {
		c.Set(1, 5)
		want, live = 5, true
	}
	load := make(chan struct{})
	loading := make(chan struct{})
	done := make(chan struct{})
	if !found {
		go func() {
			defer close(done)
			_, _ = c.Take(1, func() (int, error) { close(loading); <-load; return 9, nil })
		}()
		<-loading
	}
	got, ok := c.ComputeWithExpire(1, expire, func(old int, has bool) (int, Op) {
		if has != found || has && old != 5 {
			t.Errorf("%s: the function got %d, %v", what, old, has)
		}
		return value, op
	})
	switch {
	case op == OpSet && expire >= 0:
		want, live = value, true
	case op != OpKeep:
		want, live = 0, false
	}
	if got != want || ok != live {
		t.Errorf("%s: %d, %v; want %d, %v", what, got, ok, want, live)
	}
	if !found {
		close(load)
		<-done
		if op == OpKeep {
			want, live = 9, true
		}
	}
	e, ok := c.Entry(1)
	if e.Value != want || ok != live {
		t.Errorf("%s: then %d, %v; want %d, %v", what, e.Value, ok, want, live)
	}
	ttl := expire
	if op == OpKeep || o.Idle > 0 && (expire == 0 || expire > o.Idle) {
		ttl = time.Hour
	} else if expire == 0 {
		ttl = math.MaxInt64
	}
	if live && (e.TTL > ttl || e.TTL < ttl-time.Minute) {
		t.Errorf("%s: the TTL is %v, want %v", what, e.TTL, ttl)
	}
	if err := c.check(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	s := &c.allShards()[0]
	if s.fenced != 0 {
		t.Errorf("%s: %d fences", what, s.fenced)
	}
	if o.Weigh != nil && c.Stats().Weight != uint64(want) {
		t.Errorf("%s: weight %d of value %d", what, c.Stats().Weight, want)
	}
	if r := c.Stats().Removals; r.Replaced+r.Deleted != uint64(btoi(found && op != OpKeep)) {
		t.Errorf("%s: %+v", what, r)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
