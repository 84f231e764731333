package shadow

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A naive is a shadow as a slice, oldest first.
type naive struct {
	limit   int
	entries []naiveEntry
	hits    uint64
}

type naiveEntry struct {
	entry
	marks int
}

func (n *naive) find(h uint64) *naiveEntry {
	i := slices.IndexFunc(n.entries, func(e naiveEntry) bool { return e.hash == h })
	if i < 0 {
		return nil
	}
	return &n.entries[i]
}

func (e *naiveEntry) mark() { e.marks = min(e.marks+1, 3) }

func (n *naive) get(h uint64, now int64, mark bool) (hit bool) {
	e := n.find(h)
	if e == nil || e.deadline <= now {
		return false
	}
	n.hits++
	if mark {
		e.mark()
	}
	return true
}

func (n *naive) set(h uint64, deadline int64) {
	if e := n.find(h); e != nil {
		e.mark()
		e.deadline = deadline
		return
	}
	if n.limit == 0 {
		return
	}
	for len(n.entries) == n.limit {
		oldest := n.entries[0]
		n.entries = n.entries[1:]
		if oldest.marks > 0 {
			oldest.marks--
			n.entries = append(n.entries, oldest)
		}
	}
	n.entries = append(n.entries, naiveEntry{entry: entry{h, deadline}})
}

func (n *naive) fill(h uint64, now, deadline int64) {
	if e := n.find(h); e == nil || e.deadline <= now {
		n.set(h, deadline)
	}
}

func (n *naive) touch(h uint64, deadline int64) {
	if n.find(h) != nil {
		n.set(h, deadline)
	}
}

func (n *naive) remove(h uint64) {
	n.entries = slices.DeleteFunc(n.entries, func(e naiveEntry) bool { return e.hash == h })
}

func (n *naive) reset(limit int) { n.limit, n.entries = limit, nil }

// check compares a shadow with the model, and verifies that all that a shadow keeps of
// its entries agrees.
func (s *shadow) check(want *naive) error {
	if len(s.entries) != want.limit {
		return fmt.Errorf("room for %d entries, want %d", len(s.entries), want.limit)
	}
	if got := s.hits.Load(); got != want.hits*sampleSize {
		return fmt.Errorf("%d hits, want %d", got, want.hits*sampleSize)
	}
	var got, wanted []entry
	hashes := map[uint32]uint64{}
	for i := range s.order.All() {
		got = append(got, s.entries[i])
		hashes[i] = s.entries[i].hash
	}
	for _, e := range want.entries {
		wanted = append(wanted, e.entry)
	}
	if !slices.Equal(got, wanted) || len(hashes) != len(got) {
		return fmt.Errorf("entries, oldest first\n got %v\nwant %v", got, wanted)
	}
	for i := s.free; int(i) < len(s.entries); i = uint32(s.entries[i].deadline) {
		if _, twice := hashes[i]; twice {
			return fmt.Errorf("slot %d is in use and free, or free twice", i)
		}
		hashes[i] = 0
	}
	if len(hashes) != len(s.entries) {
		return fmt.Errorf("%d of %d slots are in use or free", len(hashes), len(s.entries))
	}
	for i := s.free; int(i) < len(s.entries); i = uint32(s.entries[i].deadline) {
		delete(hashes, i)
	}
	return s.index.Check(hashes)
}

// spreads are ways to make hashes of small numbers.
var spreads = map[string]func(k int) uint64{
	"good":    func(k int) uint64 { return uint64(k+1) * 0x9E3779B97F4A7C15 },
	"meeting": func(k int) uint64 { return uint64(k) << 8 }, // in one cell of the index
}

// TestModel compares shadows with slices, on a stream of random operations, and checks
// the invariants after each. At the limits of the test no entry is passed over so often
// that the order loses patience.
func TestModel(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(spreads)) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { runModel(t, spreads[name]) })
		})
	}
}

func runModel(t *rapid.T, hash func(k int) uint64) {
	limits := rapid.SampledFrom([]int{0, 1, 2, 3, 8, 20})
	hashes := rapid.Map(rapid.IntRange(0, 59), hash)
	deadlines := rapid.SampledFrom([]int64{5, 20, 1 << 62})
	var want [kinds]naive
	resize := func(limit int) {
		want[half].reset(limit / 2)
		want[same].reset(limit)
		want[double].reset(limit * 2)
		want[other].reset(limit)
	}
	all := func(f func(n *naive)) {
		for i := range want {
			f(&want[i])
		}
	}

	limit := limits.Draw(t, "limit")
	resize(limit)
	c := New(limit, byUse, byUse)
	gets, now := uint64(0), int64(0)
	get := func(t *rapid.T, h uint64) {
		gets++
		hit := want[same].get(h, now, true)
		all := hit
		for _, i := range [...]int{half, double, other} {
			all = want[i].get(h, now, hit) && all
		}
		if got := c.Get(h, now); got != all {
			t.Fatalf("Get is %v, want %v", got, all)
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"Get": func(t *rapid.T) { get(t, hashes.Draw(t, "h")) },
		"Get all": func(t *rapid.T) {
			for k := range 60 {
				get(t, hash(k))
			}
		},
		"Set": func(t *rapid.T) {
			h, d := hashes.Draw(t, "h"), now+deadlines.Draw(t, "deadline")
			c.Set(h, d)
			all(func(n *naive) { n.set(h, d) })
		},
		"Set many": func(t *rapid.T) {
			for k := range rapid.IntRange(1, 60).Draw(t, "n") {
				c.Set(hash(k), now+10)
				all(func(n *naive) { n.set(hash(k), now+10) })
			}
		},
		"Fill": func(t *rapid.T) {
			h, d := hashes.Draw(t, "h"), now+deadlines.Draw(t, "deadline")
			c.Fill(h, now, d)
			all(func(n *naive) { n.fill(h, now, d) })
		},
		"Touch": func(t *rapid.T) {
			h, d := hashes.Draw(t, "h"), now+deadlines.Draw(t, "deadline")
			c.Touch(h, d)
			all(func(n *naive) { n.touch(h, d) })
		},
		"Remove": func(t *rapid.T) {
			h := hashes.Draw(t, "h")
			c.Remove(h)
			all(func(n *naive) { n.remove(h) })
		},
		"Clear": func(*rapid.T) {
			c.Clear()
			all(func(n *naive) { n.reset(n.limit) })
		},
		"Resize": func(t *rapid.T) {
			limit = limits.Draw(t, "limit")
			c.Resize(limit)
			resize(limit)
		},
		"wait": func(t *rapid.T) { now += rapid.Int64Range(1, 10).Draw(t, "d") },
		"": func(t *rapid.T) {
			for i := range want {
				if err := c.caches[i].check(&want[i]); err != nil {
					t.Fatalf("shadow %d: %v", i, err)
				}
			}
			if s, want := c.Counts(), (Counts{gets, want[half].hits, want[same].hits, want[double].hits, want[other].hits}); s != want {
				t.Fatalf("Counts are %+v, want %+v", s, want)
			}
			if got, want := c.Sees(hashes.Draw(t, "seen")), limit > 0; got != want {
				t.Fatalf("Sees is %v at limit %d", got, limit)
			}
		},
	})
}
