package peers

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/maypok86/otter/v2"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestComputeOverExpired lets an entry expire during a Compute: another goroutine finds it
// gone, and then Compute ends.
//
// Shows: which caches write what was computed from an entry that had expired for others.
func TestComputeOverExpired(t *testing.T) {
	const ttl = 10 * time.Millisecond
	const computed, anew = 11, 20
	own := cache.Must(cache.Options[int, int]{Expire: ttl})
	others := otter.Must(&otter.Options[int, int]{ExpiryCalculator: otter.ExpiryWriting[int, int](ttl)})
	defer others.StopAllGoroutines()
	for name, c := range map[string]struct {
		revives bool
		set     func()
		get     func() bool
		compute func(f func(old int, found bool) int) int
	}{
		"pinwheel": {false, func() { own.Set(0, 10) }, func() bool { _, ok := own.Get(0); return ok }, func(f func(int, bool) int) int {
			v, _ := own.Compute(0, func(old int, found bool) (int, cache.Op) { return f(old, found), cache.OpSet })
			return v
		}},
		"otter": {true, func() { others.Set(0, 10) }, func() bool { _, ok := others.GetIfPresent(0); return ok }, func(f func(int, bool) int) int {
			v, _ := others.Compute(0, func(old int, found bool) (int, otter.ComputeOp) { return f(old, found), otter.WriteOp })
			return v
		}},
	} {
		t.Run(name, func(t *testing.T) {
			// On a busy machine the entry may expire before Compute begins: try again.
			for calls := 0; calls == 0; {
				c.set()
				got := c.compute(func(old int, found bool) int {
					if !found {
						return anew
					}
					calls++
					for there := true; there; {
						looked := make(chan struct{})
						go func() {
							defer close(looked)
							there = c.get()
						}()
						<-looked
					}
					return old + 1
				})
				if calls > 0 && (got == computed) != c.revives {
					t.Errorf("Compute = %d; from the expired value: want %t", got, c.revives)
				}
			}
		})
	}
}

// A stopping clock stops one reader, after it has read the time, as a scheduler would.
type stoppingClock struct {
	now  atomic.Int64
	next chan func()
}

func (c *stoppingClock) NowNano() int64 {
	now := c.now.Load()
	select {
	case stop := <-c.next:
		stop()
	default:
	}
	return now
}

func (c *stoppingClock) Tick(time.Duration) <-chan time.Time { return nil }

// TestOtterTouchesTheExpired lets an entry expire while SetExpiresAfter gives it a new deadline,
// and another goroutine finds it gone.
//
// Shows: otter's entry is there again. pinwheel's Touch, which stops nowhere, is checked by
// lincheck.
func TestOtterTouchesTheExpired(t *testing.T) {
	clock := &stoppingClock{next: make(chan func(), 1)}
	c := otter.Must(&otter.Options[int, int]{
		Clock:            clock,
		ExpiryCalculator: otter.ExpiryWriting[int, int](time.Second),
		Executor:         func(func()) {}, // no maintenance, which would read the clock
	})
	c.Set(0, before)
	stopped, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	clock.next <- func() { close(stopped); <-goOn }
	go func() { c.SetExpiresAfter(0, time.Hour); close(done) }()
	<-stopped
	clock.now.Add(int64(2 * time.Second))
	if got, ok := c.GetIfPresent(0); ok {
		t.Errorf("Get = %d after the deadline", got)
	}
	close(goOn)
	<-done
	if _, ok := c.GetIfPresent(0); !ok {
		t.Error("otter no longer revives the entry")
	}
}

// TestExpirableRemovesTheExpired removes an entry that Get does not find any more.
//
// Shows: golang-lru's expirable says that it was there.
func TestExpirableRemovesTheExpired(t *testing.T) {
	c := expirable.NewLRU[int, int](10, nil, 100*time.Millisecond)
	for range 10 { // it may be swept before
		c.Add(0, before)
		for there := true; there; {
			_, there = c.Get(0)
		}
		if c.Remove(0) {
			return
		}
	}
	t.Error("expirable no longer says so")
}

// ristrettoWith returns ristretto's cache with callbacks in which the test can block it.
func ristrettoWith(t *testing.T, cost func(int) int64, onExit func(int)) *ristretto.Cache[int, int] {
	r, err := ristretto.NewCache(&ristretto.Config[int, int]{
		NumCounters: 1000, MaxCost: 100, BufferItems: 64, IgnoreInternalCost: true, Cost: cost, OnExit: onExit,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestRistrettoDropsSecondSet sets a new key twice before ristretto applies the first Set.
//
// Shows: Get does not see a Set that has returned, and of two Sets the first wins.
func TestRistrettoDropsSecondSet(t *testing.T) {
	busy, goOn := make(chan struct{}), make(chan struct{})
	r := ristrettoWith(t, func(int) int64 {
		close(busy)
		<-goOn
		return 1
	}, nil)
	r.Set(0, 0, 0) // for a cost of 0 the goroutine that applies Sets calls Cost
	<-busy
	r.Set(1, 10, 1)
	if got, ok := r.Get(1); ok {
		t.Errorf("Get = %d: ristretto's Set is no longer late", got)
	}
	r.Set(1, 20, 1)
	close(goOn)
	r.Wait()
	if got, ok := r.Get(1); !ok || got != 10 {
		t.Errorf("Get = %d, %t, want the first value, 10", got, ok)
	}
}

// TestRistrettoLosesSetDuringDel sets a key while a Del is between its two steps.
//
// Shows: with or without Wait, a Set is lost that began after a Get had found the key gone.
func TestRistrettoLosesSetDuringDel(t *testing.T) {
	between, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r := ristrettoWith(t, nil, func(value int) {
		if value == 10 {
			close(between)
			<-goOn
		}
	})
	r.Set(1, 10, 1)
	r.Wait()
	go func() {
		defer close(done)
		r.Del(1)
	}()
	<-between
	if got, ok := r.Get(1); ok {
		t.Errorf("Get = %d during Del, want nothing", got)
	}
	r.Set(1, 20, 1)
	r.Wait()
	if got, ok := r.Get(1); ok {
		t.Errorf("Get = %d: the Set is no longer lost", got)
	}
	close(goOn)
	<-done
}
