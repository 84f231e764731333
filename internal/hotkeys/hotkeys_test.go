package hotkeys

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestLongKeysGetNoCounter: keys of 100 KB would take a hundred megabytes.
func TestLongKeysGetNoCounter(t *testing.T) {
	checkLongKeys(t, func(s string) string { return s })
	checkLongKeys(t, func(s string) any { return [1]any{s} })
	checkLongKeys(t, func(s string) struct{ tenant, name string } {
		return struct{ tenant, name string }{s[:len(s)/2], s[len(s)/2:]}
	})
}

// checkLongKeys: keys with less than their part of maxBytes are found, and none with more.
func checkLongKeys[K comparable](t *testing.T, key func(string) K) {
	s := New[K](1)
	long, short := key(strings.Repeat("x", maxBytes/minCounters+1)), key(strings.Repeat("x", maxBytes/minCounters))
	for range 3 {
		s.Add(long)
	}
	if top := s.Top(); len(top) != 0 {
		t.Error("a key that is too long has a counter")
	}
	s.Add(short)
	if top := s.Top(); len(top) != 1 || top[0] != (Key[K]{short, 0.25}) {
		t.Error("a key that is as long as allowed has no counter, or not a quarter")
	}
}

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

// check verifies the invariants: the counters are a heap, each knows its place, and
// the map has exactly them.
func (s *Sketch[K]) check() error {
	if len(s.byKey) != len(s.counters) {
		return fmt.Errorf("%d keys in the map, and %d counters", len(s.byKey), len(s.counters))
	}
	sum := uint64(0)
	for i, c := range s.counters {
		switch parent := s.counters[max(i-1, 0)/2]; {
		case c.place != i:
			return fmt.Errorf("counter %d has place %d", i, c.place)
		case parent.count > c.count:
			return fmt.Errorf("counter %d has %d, and the one above %d", i, c.count, parent.count)
		case s.byKey[c.key] != c:
			return fmt.Errorf("the map has another counter for %v", c.key)
		case c.over > c.count:
			return fmt.Errorf("counter %d has %d, of which %d may be too many", i, c.count, c.over)
		}
		sum += c.count
	}
	if sum > s.total {
		return fmt.Errorf("the counters have %d of %d keys", sum, s.total)
	}
	return nil
}

// many keys are enough to fill all counters.
const many = 8192

// streams are keys to be counted, some of them hot.
var streams = map[string]func(r *rand.Rand) func() uint64{
	"Zipf":    func(r *rand.Rand) func() uint64 { return rand.NewZipf(r, 1.1, 1, 1<<16).Uint64 },
	"uniform": func(r *rand.Rand) func() uint64 { return func() uint64 { return r.Uint64N(1000) } },
	"loop": func(*rand.Rand) func() uint64 { // the worst: a key comes back just after it lost its counter
		i := uint64(0)
		return func() uint64 { i++; return i % 200 }
	},
	"one in 100 is hot": func(r *rand.Rand) func() uint64 {
		return func() uint64 {
			if r.IntN(100) == 0 {
				return 7
			}
			return 100 + r.Uint64()%(1<<40)
		}
	},
}

// TestGuarantees: as long as nothing is halved, a key with more than its part is never
// missing, and no count is too high, nor too low by more than the least.
func TestGuarantees(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			s := New[uint64](10)
			next := stream(rand.New(rand.NewPCG(1, 2)))
			truth := map[uint64]uint64{}
			for n := uint64(1); n <= many; n++ {
				k := next()
				truth[k]++
				s.count(k, 1)
				if n%997 != 0 && n != many {
					continue
				}
				if err := s.check(); err != nil {
					t.Fatal(err)
				}
				if s.total != n || cap(s.counters) != minCounters {
					t.Fatalf("%d counted by %d counters, want %d", s.total, cap(s.counters), n)
				}
				checkCounts(t, s, truth, n)
			}
			checkSketch(t, s) // last, as Top may halve on a machine that stood still
		})
	}
}

// TestGuaranteesAreKept over many halvings, where each count may be off by one.
func TestGuaranteesAreKept(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			s := New[uint64](10)
			next := stream(rand.New(rand.NewPCG(1, 2)))
			truth := map[uint64]float64{} // halved too
			for i := range 10 * many {
				if i%many == many-1 {
					s.halve(s.halved.Add(halfLife))
					for k := range truth {
						truth[k] /= 2
					}
				}
				k := next()
				s.count(k, 1)
				truth[k]++
			}
			checkSketch(t, s)
			for k, want := range truth {
				c := s.byKey[k]
				if c == nil {
					if (want-2)*minCounters > float64(s.total) {
						t.Errorf("%v of %d were %d, which has no counter", want, s.total, k)
					}
					continue
				}
				if least := float64(c.count - c.over); least > want+2 || float64(c.count) < want-2 {
					t.Errorf("%d came %v times, counted from %v to %d", k, want, least, c.count)
				}
			}
		})
	}
}

// TestHalving: keys that were hot half a minute ago give way to those that are hot now.
func TestHalving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New[int](1)
		add := func(key int, d time.Duration) {
			for range d / time.Millisecond {
				s.Add(key)
				time.Sleep(time.Millisecond)
			}
		}
		for key := range 300 { // traffic of all kinds for five minutes
			add(key, time.Second)
		}
		if got := s.Hottest(); got > 0.2 {
			t.Errorf("a key of a second has %v", got)
		}
		for range 25_000 / 10 { // and then a key with 70 % for 25 s
			add(1000, 7*time.Millisecond)
			add(rand.IntN(300), 3*time.Millisecond)
		}
		got := s.Top()
		if len(got) != 1 || got[0].Key != 1000 || got[0].Share < 0.5 || got[0].Share > 0.75 {
			t.Errorf("Top is %v", got)
		}
		if share := s.Hottest(); share != got[0].Share {
			t.Errorf("Hottest is %v, Top %v", share, got)
		}
		if err := s.check(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if share := s.Hottest(); share != 0 {
			t.Errorf("after an hour of nothing the hottest has %v", share)
		}
	})
}

func TestTop(t *testing.T) {
	s := New[string](3)
	if top := s.Top(); len(top) != 0 {
		t.Errorf("Top of nothing is %v", top)
	}
	for key, n := range map[string]int{"a": 1, "b": 4, "c": 2, "d": 3} {
		for range n {
			s.count(key, 1)
		}
	}
	if got, want := s.Top(), []Key[string]{{"b", 0.4}, {"d", 0.3}, {"c", 0.2}}; !slices.Equal(got, want) {
		t.Errorf("Top is %v, want %v", got, want)
	}
}

// TestTopLeavesOutWhatMayNotHaveCome: Top leaves out a key whose whole count may belong to
// others.
func TestTopLeavesOutWhatMayNotHaveCome(t *testing.T) {
	s := New[int](1000)
	for key := range cap(s.counters) {
		s.count(key, 1)
	}
	s.count(0, 1)
	s.halve(s.halved.Add(halfLife))
	if got := s.Top(); len(got) != 1 || got[0].Key != 0 {
		t.Errorf("Top has %d keys, want the only one that came more than once", len(got))
	}
}

// TestMemoryIsBounded: memory is bounded whatever keys are added.
func TestMemoryIsBounded(t *testing.T) {
	for _, test := range []struct{ keys, want int }{{1, 128}, {16, 128}, {17, 136}, {1000, 8000}} {
		s := New[int](test.keys)
		for i := range 3 * test.want {
			s.count(i, 1)
		}
		if len(s.counters) != test.want || cap(s.counters) != test.want || len(s.byKey) != test.want {
			t.Errorf("%d keys: %d counters, %d in the map; want %d", test.keys, len(s.counters), len(s.byKey), test.want)
		}
	}
}

// TestAddSamples: all keys of a slow stream are counted, and a part of a fast stream, which stands
// for all. When the stream becomes slow, soon all are counted again.
func TestAddSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New[int](1)
		for range 100 {
			s.Add(1)
		}
		if s.total != 100 || s.sampled != 100 {
			t.Errorf("%d keys counted as %d, want 100", s.sampled, s.total)
		}
		const n = 4_000_000
		for range n {
			s.Add(1)
		}
		if s.every.Load() != maxEvery || s.total < n*98/100 || s.total > n*102/100 { // seven standard deviations
			t.Errorf("one in %d is counted, as %d of %d", s.every.Load(), s.total, n)
		}
		for range 10 {
			time.Sleep(halfLife)
			s.Hottest()
		}
		if got := s.every.Load(); got != 1 {
			t.Errorf("of a slow stream one in %d is counted", got)
		}
	})
}

// TestAddNeverWaits: Add does not even wait while another goroutine has the lock.
func TestAddNeverWaits(t *testing.T) {
	s := New[int](1)
	s.mu.Lock()
	for range 100 * maxEvery {
		s.Add(1)
	}
	s.mu.Unlock()
	if s.total != 0 {
		t.Errorf("%d keys counted under the lock of another", s.total)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := New[int](5)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for i := range 100_000 {
				s.Add(int(r.ExpFloat64() * 100))
				if i%1000 == 0 {
					for _, k := range s.Top() {
						if k.Share <= 0 || k.Share > 1 {
							t.Errorf("share %v", k.Share)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if err := s.check(); err != nil {
		t.Error(err)
	}
	s.Close()
}

// TestKeysAreLetGo: a key is let go when another takes over its counter, and by Close.
func TestKeysAreLetGo(t *testing.T) {
	s := New[*[64]byte](1)
	var freed atomic.Int64
	count := func(n int) {
		for range n {
			key := new([64]byte)
			runtime.AddCleanup(key, func(*atomic.Int64) { freed.Add(1) }, &freed)
			s.count(key, 1)
		}
	}
	const n = 3 * minCounters
	count(n)
	if !settle.Collected(func() bool { return freed.Load() == n-minCounters }) {
		t.Errorf("%d of %d keys let go, want all but %d", freed.Load(), n, minCounters)
	}
	s.Close()
	if !settle.Collected(func() bool { return freed.Load() == n }) {
		t.Errorf("%d of %d keys let go after Close", freed.Load(), n)
	}
	for range 100 * maxEvery {
		s.Add(new([64]byte))
	}
	if len(s.counters) != 0 || len(s.byKey) != 0 || s.Top() != nil {
		t.Error("keys are held after Close")
	}
	s.Close()
}

// TestSharesAreLeast: a share does not include what may belong to another key.
func TestSharesAreLeast(t *testing.T) {
	s := New[int](1)
	for key := range minCounters + 1 { // the last takes over the counter of another
		s.count(key, 1)
	}
	if top := s.Top(); len(top) != 1 || top[0].Share != 1.0/(minCounters+1) {
		t.Errorf("Top of keys that came once each is %v", top)
	}
}
