package main

import (
	"testing"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// The tests below force the interleavings of bench/results/linearizability.md that
// can be forced: the same steps in the same order, every time. When a library fixes a fault,
// its test fails: then update the table.

// open returns a cache of the contender with that name.
func open(t *testing.T, name string, c config) *lincheck.Subject {
	t.Helper()
	for _, contender := range contenders {
		if contender.name == name {
			s, end := contender.open(c)
			t.Cleanup(end)
			return s
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func del(s *lincheck.Subject, key int) {
	if s.Del != nil {
		s.Del(key)
	} else {
		s.Remove(key)
	}
}

// TestChangeDuringLoad removes or sets a key while a Take fetches it.
//
// Shows: which caches store what was read before the change.
func TestChangeDuringLoad(t *testing.T) {
	const before, after = 1, 2
	for _, c := range []struct {
		name  string
		stale bool
	}{{"pinwheel", false}, {"otter", false}, {"go-zero", true}, {"ttlcache", true}, {"sturdyc", true}, {"naive map", true}} {
		t.Run(c.name+", Del", func(t *testing.T) {
			s := open(t, c.name, config{limit: roomy, loads: true})
			changeDuringLoad(t, s, before, func() { del(s, 0) })
			if got, ok := s.Get(0); ok && got == before != c.stale {
				t.Errorf("Get = %d, %t; the removed value is there: want %t", got, ok, c.stale)
			}
		})
		t.Run(c.name+", Set", func(t *testing.T) {
			s := open(t, c.name, config{limit: roomy, loads: true})
			changeDuringLoad(t, s, before, func() { s.Set(0, after) })
			if got, ok := s.Get(0); !ok || got == before != c.stale {
				t.Errorf("Get = %d, %t; the overwritten value is there: want %t", got, ok, c.stale)
			}
		})
	}
}

// changeDuringLoad changes the key before the fetch of a Take returns the value; a further
// fetch fails.
func changeDuringLoad(t *testing.T, s *lincheck.Subject, value int64, change func()) {
	t.Helper()
	fetching, changed, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	fetches := 0
	go func() {
		defer close(done)
		_, _ = s.Take(0, func() (int64, error) {
			if fetches++; fetches > 1 {
				return 0, errFetch
			}
			close(fetching)
			<-changed
			return value, nil
		})
	}()
	<-fetching
	change()
	close(changed)
	<-done
}

// TestComputeOverExpired lets an entry expire during a Compute: another goroutine finds it
// gone, and then Compute ends.
//
// Shows: which caches write what was computed from an entry that had expired for others.
func TestComputeOverExpired(t *testing.T) {
	for name, revives := range map[string]bool{"pinwheel": false, "otter": true} {
		t.Run(name, func(t *testing.T) {
			s := open(t, name, config{limit: roomy, ttl: time.Hour})
			// On a busy machine the entry may expire before Compute begins: try again.
			for calls := 0; calls == 0; {
				s.SetWithExpire(0, 10, 10*time.Millisecond)
				got, _ := s.Compute(0, func(old int64, found bool) (int64, lincheck.Action) {
					if !found {
						return 20, lincheck.Store
					}
					calls++
					for there := true; there; {
						looked := make(chan struct{})
						go func() {
							defer close(looked)
							_, there = s.Get(0)
						}()
						<-looked
					}
					return old + 1, lincheck.Store
				})
				if calls > 0 && (got == 11) != revives {
					t.Errorf("Compute = %d; from the expired value: want %t", got, revives)
				}
			}
		})
	}
}

// TestTheineKeepsDeadline sets a value without a TTL over one that has expired.
//
// Shows: theine keeps the old deadline, so the Set is lost.
func TestTheineKeepsDeadline(t *testing.T) {
	s := open(t, "theine", config{limit: roomy, ttl: time.Hour})
	// Once a second theine removes what has expired. If that happens now, the Set is kept.
	for range 10 {
		s.SetWithExpire(0, 1, time.Millisecond)
		for there := true; there; {
			_, there = s.Get(0)
		}
		s.SetWithExpire(0, 2, 0)
		if _, ok := s.Get(0); !ok {
			return
		}
	}
	t.Error("theine's Set is no longer lost")
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
