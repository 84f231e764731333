package pressure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A model is a process with a holder and with other memory. A cycle of the collector
// takes time as there is live memory, and comes when what is free is used up.
type model struct {
	governor
	limit, other      float64
	held, hold, most  float64
	collector, passed float64
}

func (p *model) Held() (now, may, most uint64) {
	return uint64(p.held), uint64(p.hold), uint64(p.most)
}
func (p *model) Hold(most uint64) { p.hold, p.held = float64(most), min(p.held, float64(most)) }

// cycle lets the program fill the cache and allocate until the collector has run, and returns
// the share of the time that this took.
func (p *model) cycle() float64 {
	live := p.held + p.other
	free := max(min(live, p.limit-live), p.limit/100) // GOGC=100, and at least something
	p.held = min(p.hold, p.held+free/4)
	took := live / 4e9
	p.collector += took
	p.passed += took + free/1e8
	excess := p.excess(reading{limit: uint64(p.limit), live: uint64(live), collector: p.collector, processor: p.passed})
	share(excess, []Holder{p})
	return took / (took + free/1e8)
}

// TestGovernor has the other memory of a process swing by two times.
//
// Catches: a cache that yields too little or too late, that does not come back, that swings
// while nothing changes.
func TestGovernor(t *testing.T) {
	const mb = 1 << 20
	p := &model{limit: 1000 * mb, most: 800 * mb, hold: 800 * mb}
	for swing := range 20 {
		p.other = 150 * mb * float64(1+swing%2)
		for range 40 {
			p.cycle()
		}
		least, most, spent := math.MaxFloat64, 0.0, 0.0
		for range 20 {
			spent = max(spent, p.cycle())
			least, most = min(least, p.held), max(most, p.held)
		}
		if used := p.other + most; used > 0.95*p.limit {
			t.Errorf("swing %d: %.0f MB in use", swing, used/mb)
		}
		if used := p.other + least; used < 0.5*p.limit {
			t.Errorf("swing %d: only %.0f MB in use", swing, used/mb)
		}
		if most-least > 0.1*p.limit {
			t.Errorf("swing %d: the cache holds %.0f to %.0f MB while nothing changes", swing, least/mb, most/mb)
		}
		if spent > 0.3 {
			t.Errorf("swing %d: the collector takes %.2f of the time", swing, spent)
		}
	}
	p.other, p.most = 0, 600*mb
	for range 200 {
		p.cycle()
	}
	if p.hold != p.most {
		t.Errorf("without other memory the cache may hold %.0f MB", p.hold/mb)
	}
}

type fixed struct{ now, most, hold uint64 }

func (f *fixed) Held() (now, may, most uint64) { return f.now, f.now, f.most }
func (f *fixed) Hold(most uint64)              { f.hold = most }

// TestShare divides random excesses among holders of random sizes.
//
// Catches: a holder told to hold more than its most or next to nothing, one that must give more
// than its part, an overflow.
func TestShare(t *testing.T) {
	for range 10_000 {
		var all []Holder
		var total uint64
		for range 1 + rand.IntN(4) {
			f := &fixed{now: rand.Uint64N(1 << rand.IntN(50)), most: 1 + rand.Uint64N(1<<rand.IntN(64))}
			f.hold = f.now
			total += f.now
			all = append(all, f)
		}
		excess := rand.Int64N(1<<rand.IntN(60)+1) - rand.Int64N(1<<rand.IntN(60)+1)
		share(excess, all)
		for _, h := range all {
			f := h.(*fixed)
			switch {
			case f.hold > f.most || f.hold < f.most/17:
				t.Fatalf("excess %d: %+v", excess, f)
			case excess > 0 && total > uint64(excess) && f.now < f.most && float64(f.hold)+1 < 0.25*float64(f.now): // a part is rounded down
				t.Fatalf("excess %d of %d: %+v gives more than its part", excess, total, f)
			case excess < 0 && f.now <= f.most && f.hold < f.now*999/1000: // a float has 53 bits
				t.Fatalf("excess %d: %+v must give", excess, f)
			}
		}
	}
}
