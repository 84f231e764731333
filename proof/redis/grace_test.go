package redis_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
)

// TestAgedFleet has values of which most are due or in their Grace, while the network fails and
// others remove them.
//
// Catches: a value that stands in although it was removed more than MaxLag ago, a refresh that
// undoes a removal.
func TestAgedFleet(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		t.Run("foreign="+strconv.FormatBool(foreign), func(t *testing.T) {
			t.Parallel()
			s := server(t)
			p := neartest.NewProxy(t, s.Addr)
			age := func(o *near.Options[int, row]) {
				o.Expire, o.Jitter, o.Refresh, o.Grace, o.MaxLoads = 150*time.Millisecond, 0.95, 0.9, time.Minute, 8
			}
			f := connectWith(t, age, func(s near.Source) near.Source { return s }, redis.Options{}, p.Addr)
			f.Pause, f.Patience = 20*time.Millisecond, []time.Duration{time.Minute, maxLag, maxLag} // so that values age
			if foreign {
				f.db.remove = foreignDel(t, s)
			}
			f.Run(t, func() {
				p.Suffer(neartest.Faults["stall"], 3*maxLag/2, neartest.FromServer)
				time.Sleep(maxLag)
			})
			f.Verdict(t)
			var refreshes, inGrace uint64
			for _, one := range f.Instances() {
				now := one.Stats()
				refreshes += now.Loads.Refreshes.OK
				inGrace += now.HitsInGrace
			}
			if refreshes == 0 || inGrace == 0 {
				t.Errorf("%d refreshes, %d values that stood in", refreshes, inGrace)
			}
		})
	}
}

// TestGraceOverRedis checks that a value past its TTL stands in while the database is down, also
// in an instance that starts then, until it is back or the value is removed.
func TestGraceOverRedis(t *testing.T) {
	t.Parallel()
	s := server(t)
	var version atomic.Int64 // of the row; negative while the database is down
	var fetches atomic.Int64
	errDown := errors.New("the database is down")
	fetch := func(context.Context) (row, error) {
		fetches.Add(1)
		if now := version.Load(); now >= 0 {
			return row{int(now)}, nil
		}
		return row{}, errDown
	}
	join := func() *near.Cache[int, row] {
		t.Helper()
		r, err := redis.New(t.Context(), redis.Options{Client: rueidis.ClientOption{InitAddress: []string{s.Addr}}, Prefixes: []string{prefix}})
		check(t, err)
		t.Cleanup(r.Close)
		c, err := near.New(r, r, near.Options[int, row]{Prefix: prefix, MaxLag: maxLag, Expire: time.Hour, Grace: time.Hour, Lease: 100 * time.Millisecond})
		check(t, err)
		t.Cleanup(func() { check(t, c.Close(context.Background())) })
		return c
	}
	take := func(what string, c *near.Cache[int, row], want int) {
		t.Helper()
		if got, err := c.Take(t.Context(), 1, fetch); err != nil || got.Version != want {
			t.Errorf("%s: %v, %v; want %d", what, got, err, want)
		}
	}
	one := join()
	version.Store(1)
	take("at first", one, 1)
	version.Store(-1)
	do(t, s, "PEXPIRE", keyOf(1), strconv.Itoa(30*60*1000)) // half an hour past its TTL, as times count from the end
	before := fetches.Load()
	for fetches.Load() < before+3 { // in the background, as soon as the change is told
		take("in grace", one, 1)
	}
	other := join()
	for range 100 {
		take("in grace, in a new instance", other, 1)
		take("in grace", one, 1)
	}
	if n := other.Stats().HitsInGrace; n != 100 {
		t.Errorf("%d of 100 values stood in", n)
	}
	version.Store(2)
	for _, c := range []*near.Cache[int, row]{one, other} {
		for got := (row{}); got.Version != 2; {
			var err error
			got, err = c.Take(t.Context(), 1, fetch)
			check(t, err)
		}
	}
	version.Store(-1)
	do(t, s, "PEXPIRE", keyOf(1), strconv.Itoa(30*60*1000))
	check(t, other.Del(t.Context(), 1))
	if got, err := other.Take(t.Context(), 1, fetch); !errors.Is(err, errDown) {
		t.Errorf("after Del: %v, %v", got, err)
	}
	var err error
	for end := time.Now().Add(startTime); err == nil && time.Now().Before(end); {
		_, err = one.Take(t.Context(), 1, fetch)
	}
	if !errors.Is(err, errDown) {
		t.Errorf("after a Del elsewhere: %v", err)
	}
}
