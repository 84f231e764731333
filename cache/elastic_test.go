package cache

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestElasticLimit checks which limit follows another.
func TestElasticLimit(t *testing.T) {
	for _, test := range []struct {
		room            float64
		old, used, most uint64
		want            uint64
	}{
		{0.8, 1000, 1000, 1000, 700},    // down, by half more than the whole heap must
		{0.8, 1000, 500, 1000, 350},     // by what is used
		{1.5, 500, 500, 1000, 875},      // up
		{1.5, 500, 400, 1000, 700},      // by what is used
		{1.2, 500, 10, 1000, 500},       // never down while there is room
		{2, 100, 0, 1600, 125},          // up as if half were used
		{2, 600, 600, 1000, 1000},       // never above the most
		{0.995, 1000, 1000, 1000, 1000}, // not for little
		{1.005, 500, 500, 1000, 500},
		{1.005, 999, 999, 1000, 1000}, // but to the most
		{0.01, 1000, 1000, 1600, 100}, // never below a sixteenth
		{0.5, 1600, 0, 1600, 100},
		{0, 1000, 1000, 1600, 100},
		{0.01, 3, 3, 3, 1},
		{1.02, 1, 1, 3, 2}, // by at least one
		{1.005, 1, 1, 3, 1},
		{0.5, 0, 70, 0, 0}, // no limit stays
		{2, 1 << 62, 1 << 62, math.MaxUint64, 5 << 61},
	} {
		if got := elasticLimit(test.room, test.old, test.used, test.most); got != test.want {
			t.Errorf("%+v: the limit is %d", test, got)
		}
	}
}

// TestFit moves limits down and up: entries leave, arrays shrink, and what the program sets stays the most.
func TestFit(t *testing.T) {
	for _, o := range []Options[int, int]{
		{Limit: 20_000},
		{MaxWeight: 20_000, Weigh: func(int, int) uint32 { return 1 }},
	} {
		c := Must(o)
		limit := func() uint64 {
			entries, weight := c.Limit()
			return uint64(entries) + weight
		}
		fill := func() {
			for k := range 30_000 {
				c.Set(k, k)
			}
		}
		fill()
		slots := slotsOf(c)
		c.fit(0.8)
		if limit() != 14_000 || c.Len() != 14_000 || slotsOf(c) > slots*4/5 {
			t.Errorf("limit %d, %d entries in %d slots of %d", limit(), c.Len(), slotsOf(c), slots)
		}
		c.fit(1.1)
		if fill(); limit() != 16_100 || c.Len() != 16_100 {
			t.Errorf("limit %d, %d entries", limit(), c.Len())
		}
		resize := func(n int) {
			if c.common.size.weigh != nil {
				settle.Must(t, c.ResizeWeight(uint64(n)))
			} else {
				settle.Must(t, c.Resize(n))
			}
		}
		resize(10_000)
		if c.fit(2); limit() != 10_000 || c.Len() != 10_000 {
			t.Errorf("limit %d, %d entries, after a Resize", limit(), c.Len())
		}
		c.ceiling.resizing.Lock()
		c.limitTo(9_000) // as if stores during the change exceeded it
		c.ceiling.resizing.Unlock()
		if c.fit(0.999); limit() != 9_000 || c.Len() != 9_000 {
			t.Errorf("limit %d, %d entries, after the limit was exceeded", limit(), c.Len())
		}
		resize(10_000)
		fill()
		if c.common.size.weigh == nil {
			resize(0)
			if c.fit(0.5); limit() != 0 || c.Len() != 10_000 {
				t.Errorf("limit %d, %d entries, after a Resize to none", limit(), c.Len())
			}
		}
		wantWhole(t, c)
	}
}

// TestAfterGC checks that a function is called after collections until it returns false.
func TestAfterGC(t *testing.T) {
	var calls atomic.Int32
	afterGC(func() bool { return calls.Add(1) < 3 })
	if !settle.Collected(func() bool { return calls.Load() == 3 }) {
		t.Errorf("%d calls", calls.Load())
	}
	for range 5 {
		runtime.GC()
	}
	var another atomic.Bool
	afterGC(func() bool { another.Store(true); return false })
	if !settle.Collected(another.Load) || calls.Load() != 3 {
		t.Errorf("%d calls, want none after it returned false", calls.Load())
	}
}

// TestRoom checks what room a gauge finds with and without a memory limit.
func TestRoom(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	if room, limited := new(gauge).room(); limited {
		t.Errorf("room %v, without a limit", room)
	}
	debug.SetMemoryLimit(1) // less than the memory beside the heap
	room, limited := new(gauge).room()
	if debug.SetMemoryLimit(1 << 40); room != 0 || !limited {
		t.Errorf("room %v, limited %v: want none", room, limited)
	}
	if room, limited := new(gauge).room(); room < 2 || !limited {
		t.Errorf("room %v, limited %v: want much", room, limited)
	}
}

// TestElasticWithWhatIf checks that the options are refused together.
func TestElasticWithWhatIf(t *testing.T) {
	if _, err := New(Options[int, int]{Limit: 10, Elastic: true, WhatIf: true}); !errors.Is(err, ErrArgument) {
		t.Errorf("New returns %v", err)
	}
}

// TestElasticIsCollected checks that Elastic moves the limit of a cache, but does not keep it alive.
func TestElasticIsCollected(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40)) // so much that no other test sees it
	c := Must(Options[int, int]{Limit: 10, Elastic: true})
	c.fit(0)
	if !settle.Collected(func() bool { limit, _ := c.Limit(); return limit == 10 }) {
		t.Error("the limit does not come back")
	}
	w := weak.Make(c)
	if !settle.Collected(func() bool { return w.Value() == nil }) {
		t.Error("it is not collected")
	}
}

// TestElastic lets the memory beside two caches grow to twice as much, and shrink, under a memory limit. The limits
// must go down and up again, so that the live heap is within it.
func TestElastic(t *testing.T) {
	if !alone(t) {
		return
	}
	const mb, memory = 1 << 20, 128 << 20
	debug.SetMemoryLimit(memory)
	weighed := Must(Options[int, []byte]{MaxWeight: 64 * mb, Elastic: true, Weigh: func(_ int, v []byte) uint32 { return uint32(len(v)) }})
	counted := Must(Options[int, []byte]{Limit: 64 << 8, Elastic: true})
	fill := func() {
		for k := range 64 << 10 {
			if _, ok := weighed.Peek(k); !ok {
				weighed.Set(k, make([]byte, 1024))
			}
			if _, ok := counted.Peek(k); !ok {
				counted.Set(k, make([]byte, 1024))
			}
		}
	}
	limits := func() (n int, weight uint64) {
		n, _ = counted.Limit()
		_, weight = weighed.Limit()
		return n, weight
	}
	var foreign [][]byte
	for _, grown := range []int{30, 60, 30, 60} {
		foreign = foreign[:0:0]
		for range grown {
			foreign = append(foreign, make([]byte, mb))
		}
		lower, rest := memory*7/10-uint64(grown)*mb, uint64(0)
		reached := settle.Collected(func() bool {
			fill()
			n, weight := limits()
			rest = weight + uint64(n)*1024
			return rest > lower*2/3 && rest < lower*5/4
		})
		if !reached {
			t.Errorf("%d MB beside: the caches may have %d MB, want about %d", grown, rest/mb, lower/mb)
		}
		n, weight := limits()
		t.Logf("%d MB beside: limits of %d entries and %d MB, %d MB live", grown, n, weight/mb, liveHeap()/mb)
		if live := liveHeap(); live > memory {
			t.Errorf("%d MB are live", live/mb)
		}
	}
	mustClose(t, counted)
	debug.SetMemoryLimit(memory * 8)
	if !settle.Collected(func() bool { fill(); _, weight := limits(); return weight == 64*mb }) {
		t.Error("the limit does not come back to the most")
	}
	runtime.KeepAlive(foreign)
}

func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestElasticHits logs what an elastic cache does while the memory beside it swings by two times, and what caches with
// fixed limits do.
func TestElasticHits(t *testing.T) {
	if testing.Short() || settle.UnderRace() || !alone(t) {
		return
	}
	const mb, memory = 1 << 20, 128 << 20
	debug.SetMemoryLimit(memory)
	for _, limit := range []int{20, 40, 0} {
		o := Options[uint64, []byte]{Limit: limit << 10}
		if limit == 0 {
			o.Limit, o.Elastic = 128<<10, true
		}
		settle.Heap() // collects what is left of the last one
		c := Must(o)
		s := swing{cache: c, least: o.Limit}
		var before, after gauge
		before.room()
		for range 2 {
			s.run(30)
			s.run(60)
		}
		after.room()
		t.Logf("limit %d, elastic %v: %.2f %% hits, %.1f %% of the processors for the collector, at most %d MB live, the least limit %d",
			o.Limit, o.Elastic, 100*c.Stats().HitRatio(), 100*(after.collecting-before.collecting)/(after.all-before.all), s.live/mb, s.least)
		if o.Elastic && s.least == o.Limit {
			t.Errorf("the limit stays at %d", o.Limit)
		}
		mustClose(t, c)
	}
}

// A swing is what gets a cache while memory beside it grows and shrinks.
type swing struct {
	cache  *Cache[uint64, []byte]
	beside []*[4096][]byte
	live   uint64 // the most
	least  int    // limit
}

// run lets the memory beside the cache come to so many MB, while a program gets keys.
func (s *swing) run(mb int) {
	random := rand.NewZipf(rand.New(rand.NewPCG(uint64(mb), 1)), 1.01, 50, 200<<10)
	for i := range 200_000 {
		_, _ = s.cache.Take(random.Uint64(), func() ([]byte, error) { return make([]byte, 1000), nil })
		if i%4000 != 0 {
			continue
		}
		if len(s.beside) < mb {
			objects := new([4096][]byte)
			for k := range objects {
				objects[k] = make([]byte, 232)
			}
			s.beside = append(s.beside, objects)
		} else if len(s.beside) > mb {
			s.beside[len(s.beside)-1] = nil
			s.beside = s.beside[:len(s.beside)-1]
		}
		limit, _ := s.cache.Limit()
		s.live, s.least = max(s.live, liveHeap()), min(s.least, limit)
	}
}
