package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A clockModel is a clock, and what must hold of its RecentForDeadline.
type clockModel struct {
	Clock
	left   int   // exact readings left in the tick
	ends   int64 // the tick, and then there are new ones if there are any left
	ticked int64 // the time of the last tick of the driver, or of the last reading
	last   int64 // what RecentForDeadline returned last
}

func newClockModel(tick time.Duration) *clockModel {
	m := new(clockModel)
	m.Init(tick)
	m.renew()
	return m
}

func (m *clockModel) tick() {
	m.Tick()
	m.renew()
}

func (m *clockModel) renew() {
	m.left, m.ticked = ReadingsPerTick, m.Real()
	m.ends = (m.ticked/int64(m.PerTick) + 1) * int64(m.PerTick)
}

// recent is RecentForDeadline, checked: it is exact while there are readings left, and
// otherwise between the last tick and now; and it does not go back.
func (m *clockModel) recent(t rapid.TB, luck uint64) int64 {
	t.Helper()
	if m.left > 0 && m.Real() >= m.ends {
		m.renew()
	}
	got, last := m.RecentForDeadline(&m.Stores, luck, false)
	now := m.Real()
	switch {
	case last != (m.left == 1):
		t.Fatalf("recent took the last reading: %v, with %d left", last, m.left)
	case m.left != 0 && got != now:
		t.Fatalf("recent is %d at %d, with %d exact readings left", got, now, m.left)
	case got > now:
		t.Fatalf("recent is %d at %d: ahead", got, now)
	case got < m.ticked:
		t.Fatalf("recent is %d at %d, and the last tick was at %d", got, now, m.ticked)
	case got < m.last:
		t.Fatalf("recent is %d after %d", got, m.last)
	}
	if m.left > 0 {
		m.left--
	}
	m.last = got
	return got
}

// TestRecentModel compares a clock with a model while random operations change both.
func TestRecentModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.SampledFrom([]time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second}).Draw(t, "tick")
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newClockModel(tick)
			t.Repeat(map[string]func(*rapid.T){
				"recent": func(t *rapid.T) { m.recent(t, rapid.Uint64().Draw(t, "luck")) },
				"many": func(t *rapid.T) {
					each := time.Duration(rapid.Int64Range(0, int64(tick)/ReadingsPerTick).Draw(t, "each"))
					for luck := range uint64(rapid.IntRange(1, 3*ReadingsPerTick).Draw(t, "n")) {
						m.recent(t, luck<<20)
						time.Sleep(each)
					}
				},
				"exact": func(t *rapid.T) {
					if got, _ := m.RecentForDeadline(&m.Stores, rapid.Uint64().Draw(t, "luck"), true); got != m.Real() {
						t.Fatalf("the exact time is %d, and not %d", m.Real(), got)
					}
				},
				"now": func(t *rapid.T) {
					if got := m.Now(); got != m.Real() {
						t.Fatalf("now is %d, and not %d", m.Real(), got)
					}
				},
				"tick":  func(*rapid.T) { m.tick() },
				"sleep": func(t *rapid.T) { time.Sleep(time.Duration(rapid.Int64Range(1, int64(2*tick)).Draw(t, "d"))) },
				"": func(t *rapid.T) {
					if coarse := m.coarse.Load(); coarse > m.Real() || coarse < m.ticked {
						t.Fatalf("the coarse time is %d at %d, after a tick at %d", coarse, m.Real(), m.ticked)
					}
				},
			})
		})
	})
}

// TestEachKeyReadsTheClockSometimes checks that in busy ticks no key always reads the
// clock, and none never does.
func TestEachKeyReadsTheClockSometimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, luck = 2000, 7 << 20
		m := newClockModel(time.Second)
		lucky := 0
		for range n {
			m.tick()
			for range ReadingsPerTick {
				m.recent(t, luck)
			}
			time.Sleep(time.Millisecond + 1)
			if m.recent(t, luck) == m.Real() {
				lucky++
			}
		}
		if lucky == 0 || lucky > n/2 {
			t.Errorf("lucky %d times of %d, want one in %d", lucky, n, readEvery)
		}
	})
}

// TestCoarseTimeIsSeldomWritten checks that an exact reading writes the coarse time only
// if that lags by a step, or if the reading is for a new deadline.
func TestCoarseTimeIsSeldomWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newClockModel(time.Second)
		m.tick()
		began := m.Real()
		time.Sleep(time.Duration(step))
		if m.Now(); m.coarse.Load() != began {
			t.Error("written after a step")
		}
		time.Sleep(time.Nanosecond)
		if m.Now(); m.coarse.Load() != m.Real() {
			t.Error("not written after more than a step")
		}
		time.Sleep(time.Nanosecond)
		if m.recent(t, 0); m.coarse.Load() != m.Real() {
			t.Error("not written for a new deadline")
		}
	})
}

// TestRecentOfMany checks that time does not go back for a goroutine while others read or
// set the coarse time.
func TestRecentOfMany(t *testing.T) {
	var c Clock
	c.Init(time.Second)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := int64(0)
			for k := uint64(0); !stop.Load(); k++ {
				now, _ := c.RecentForDeadline(&c.Stores, k<<20, false)
				if now < last {
					t.Errorf("time went back by %v", time.Duration(last-now))
					return
				}
				last = now
			}
		})
	}
	for range 1_000_000 {
		c.Tick()
	}
	stop.Store(true)
	wg.Wait()
}

// TestMoments checks that moments distinguish times up to two years apart, also when their
// number wraps around.
func TestMoments(t *testing.T) {
	const lasts, year = time.Duration(1) << MomentShift, 365 * 24 * time.Hour
	for _, from := range []Moment{0, 1, 1 << 31, math.MaxUint32} {
		for _, age := range []Moment{0, 1, 1000, math.MaxUint32} {
			if got, want := from.Until(from+age), time.Duration(age)*lasts; got != want {
				t.Errorf("from %d to %d it is %v, want %v", from, from+age, got, want)
			}
		}
	}
	if longest := Moment(1).Until(0); longest < 2*year {
		t.Errorf("the longest time is %v", longest)
	}
}
