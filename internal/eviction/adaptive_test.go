package eviction

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAdaptiveModel(t *testing.T) { rapid.Check(t, runAdaptiveModel) }

func FuzzAdaptive(f *testing.F) { f.Fuzz(rapid.MakeFuzz(runAdaptiveModel)) }

// A modelled is the code, the model, and the keys and weights of the entries.
type modelled struct {
	a       Adaptive
	m       adaptiveModel
	room    uint32
	keys    map[uint32]uint64
	weights []uint32 // nil if all weigh 1
}

func runAdaptiveModel(t *rapid.T) {
	o := &modelled{m: adaptiveModel{marks: map[uint32]int{}, kept: map[uint32]int{}, stayed: map[uint32]bool{}}, keys: map[uint32]uint64{}}
	if rapid.Bool().Draw(t, "weights") {
		o.weights, o.m.weights = []uint32{}, map[uint32]int{}
	}
	o.resize(rapid.SampledFrom([]uint32{0, 1, 2, 5, 40, 150}).Draw(t, "room"))
	key := rapid.Uint64Range(1, uint64(o.room)*2+2)
	t.Repeat(map[string]func(*rapid.T){
		"access": func(t *rapid.T) { o.access(t, key.Draw(t, "key")) },
		"scan": func(t *rapid.T) {
			from, n := key.Draw(t, "from"), rapid.Uint64Range(0, uint64(o.room)).Draw(t, "n")
			for k := range n {
				o.access(t, from+k)
			}
		},
		"loop": func(t *rapid.T) {
			for k := range uint64(3*o.room + 6) {
				o.access(t, k%(uint64(o.room)+2)+1)
			}
		},
		"drift": func(t *rapid.T) { // keys are hot for a while, and never again
			from := key.Draw(t, "from") << 20
			for k := range uint64(20 * o.room) {
				o.access(t, from+k/3+k*k*7%uint64(o.room/2+1))
			}
		},
		"mark": func(t *rapid.T) {
			if i, ok := o.used(t); ok {
				o.mark(i)
			}
		},
		"mark all": func(t *rapid.T) {
			for i := range o.keys {
				o.mark(i)
				o.mark(i)
			}
		},
		"remove": func(t *rapid.T) {
			if i, ok := o.used(t); ok {
				o.remove(i)
			}
		},
		"remove many": func(t *rapid.T) {
			for _, i := range o.m.entries() {
				if i%3 == 0 {
					o.remove(i)
				}
			}
		},
		"evict": func(t *rapid.T) { o.evict(t) },
		"reweigh": func(t *rapid.T) {
			if i, ok := o.used(t); ok && o.weights != nil {
				weight := rapid.Uint32Range(1, 1<<16).Draw(t, "weight")
				o.a.Reweigh(i, weight)
				o.weights[i], o.m.weights[i] = weight, int(weight)
			}
		},
		"rename": func(t *rapid.T) {
			from, ok := o.used(t)
			to, room := o.free()
			if ok && room {
				if o.weights != nil {
					o.weights[to] = o.weights[from]
				}
				o.a.Rename(from, to)
				o.m.rename(from, to)
				o.keys[to] = o.keys[from]
				delete(o.keys, from)
			}
		},
		"resize": func(t *rapid.T) {
			least := uint32(0)
			for i := range o.keys {
				least = max(least, i+1)
			}
			o.resize(rapid.Uint32Range(least, least+50).Draw(t, "room"))
		},
		"late": func(*rapid.T) { o.a.lateReturns, o.m.lateReturns = 2*lateReturnsLimit, 2*lateReturnsLimit }, // as after a long loop
		"": func(t *rapid.T) {
			if err := o.m.check(&o.a); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// used draws an entry, if there is one.
func (o *modelled) used(t *rapid.T) (uint32, bool) { return drawn(t, o.m.entries()) }

// free returns a slot without an entry, if there is one.
func (o *modelled) free() (uint32, bool) {
	for i := range o.room {
		if _, used := o.keys[i]; !used {
			return i, true
		}
	}
	return 0, false
}

func (o *modelled) resize(n uint32) {
	o.room = n
	o.a.Resize(int(n))
	o.m.resize(int(n))
	if o.weights != nil {
		o.weights = slices.Grow(o.weights, int(n))[:n]
		o.a.Weigh(o.weights)
	}
}

func (o *modelled) mark(i uint32) {
	o.a.Mark(i)
	o.m.marks[i] = min(o.m.marks[i]+1, maxMark)
}

func (o *modelled) remove(i uint32) {
	o.a.Remove(i)
	o.m.gone(i)
	delete(o.keys, i)
}

// hashOf hashes a key; hashes of adjacent keys have nothing in common.
func hashOf(key uint64) uint64 {
	h := key * 0x9E3779B97F4A7C15
	h = (h ^ h>>29) * 0xBF58476D1CE4E5B9
	return h ^ h>>32
}

// access does what a cache does for a get that stores on a miss.
func (o *modelled) access(t *rapid.T, key uint64) {
	for i, k := range o.keys {
		if k == key {
			o.mark(i)
			return
		}
	}
	i, room := o.free()
	if !room && o.room == 0 {
		return
	}
	if !room && o.weights == nil {
		i, _ = o.victim(t)
		o.a.Replace(i, hashOf(key))
		o.m.insert(i, hashOf(key))
		o.keys[i] = key
		return
	}
	if !room {
		i = o.evict(t)
	}
	if o.weights != nil {
		o.weights[i] = uint32(1 + hashOf(key)%64*(hashOf(key)%8))
		o.m.weights[i] = int(o.weights[i])
	}
	o.a.Insert(i, hashOf(key))
	o.m.insert(i, hashOf(key))
	o.keys[i] = key
}

// evict evicts one entry, if there is one.
func (o *modelled) evict(t *rapid.T) uint32 {
	i, ok := o.victim(t)
	if ok {
		o.a.Remove(i)
	}
	return i
}

// victim returns the entry to evict, if there is one, which the model has evicted.
func (o *modelled) victim(t *rapid.T) (i uint32, ok bool) {
	for {
		i, ok := o.a.Victim()
		if ok != (o.m.len() > 0) {
			t.Fatalf("a victim: %v, of %d entries", ok, o.m.len())
		}
		if !ok {
			return 0, false
		}
		if want := o.m.victim(); i != want {
			t.Fatalf("the victim is %d, want %d", i, want)
		}
		h := hashOf(o.keys[i])
		promoted := o.a.Promote(i, h)
		if want := o.m.promote(i, h); promoted != want {
			t.Fatalf("the victim is promoted: %v, want %v", promoted, want)
		}
		if !promoted {
			o.m.evict(i, h)
			delete(o.keys, i)
			return i, true
		}
	}
}

// marked returns an order of 10,000 entries, inSmall of them in small, whose target is
// 200. The others are in main, old and fully marked.
func marked(inSmall uint32) *Adaptive {
	const n = 10_000
	a := new(Adaptive)
	a.Resize(n)
	for i := range n - inSmall {
		a.push(main, i+firstEntry)
		for range maxMark {
			a.Mark(i)
		}
	}
	for i := n - inSmall; i < n; i++ {
		a.Insert(i, hashOf(uint64(i)))
	}
	a.checks.now = 10 * n
	return a
}

// TestAdaptiveMovesFew: an eviction moves at most maxMoves entries to the newest end, and
// maxChallenged more for a key that came back.
func TestAdaptiveMovesFew(t *testing.T) {
	a := marked(200)
	for i := range a.All() {
		a.Mark(i)
	}
	if i, _ := a.Victim(); i != maxMoves {
		t.Errorf("the victim is %d, want %d after so many were moved on", i, maxMoves)
	}
	a.Remove(maxMoves)
	if i, _ := a.Victim(); i != 2*maxMoves+1 {
		t.Errorf("the next victim is %d, want %d", i, 2*maxMoves+1)
	}

	a = marked(291)
	first := uint32(10_000 - 291)
	for i := range uint32(90) {
		a.Mark(first + i)
	}
	a.ghost.addNew(hashOf(uint64(first + 90)))
	i, _ := a.Victim()
	if i != first+90 {
		t.Errorf("the victim is %d, want %d, the first of small without a mark", i, first+90)
	}
	if a.Promote(i, hashOf(uint64(i))) {
		t.Error("a key that came back won, though all of main is marked")
	}
	if oldest := a.oldest(main) - firstEntry; oldest != maxChallenged {
		t.Errorf("main's oldest is %d, want %d after a challenge", oldest, maxChallenged)
	}
}

// TestAdaptivePromotesFew: an eviction promotes no more than maxMoves entries.
func TestAdaptivePromotesFew(t *testing.T) {
	a := marked(5000) // small has more than its part, so all that came back is promoted
	for i := uint32(5000); i < 10_000; i++ {
		a.ghost.addNew(hashOf(uint64(i)))
	}
	promoted := 0
	for i, _ := a.Victim(); a.Promote(i, hashOf(uint64(i))); i, _ = a.Victim() {
		promoted++
	}
	if promoted > maxMoves || promoted < maxMoves/2 {
		t.Errorf("%d entries were promoted, want at most %d, and about as many", promoted, maxMoves)
	}
}

// TestAdaptiveChallenge: a key that came back replaces main's oldest entry without a mark,
// if it came back in less than 60 % of the age of main's oldest.
func TestAdaptiveChallenge(t *testing.T) {
	for _, test := range []struct {
		now  uint32 // main's age
		want bool
	}{{100_000, true}, {1000, false}} {
		a := marked(202)
		a.checks.now = test.now
		for range maxMark {
			a.marks.take(3)
		}
		i, _ := a.Victim()
		a.ghost.addNew(hashOf(uint64(i)))
		if got := a.Promote(i, hashOf(uint64(i))); got != test.want {
			t.Errorf("at age %d of main the key that came back is promoted: %v", test.now, got)
		}
		if j, _ := a.Victim(); test.want && j != 3 {
			t.Errorf("the victim is %d, want main's entry without a mark, 3", j)
		}
	}
}

// TestAdaptiveAgesAfterRemovals: deletions do not make main's other entries look younger.
func TestAdaptiveAgesAfterRemovals(t *testing.T) {
	const n = 3200
	a := new(Adaptive)
	a.Resize(n)
	for i := range uint32(n) {
		a.push(main, i+firstEntry)
		a.checks.now++
	}
	for i := range uint32(n) {
		if i%2 == 1 {
			a.Remove(i)
		}
	}
	if got := a.mainAge(); got != n {
		t.Errorf("main's oldest has age %d, want %d, after removals too", got, n)
	}
	for i := range uint32(n / 2) {
		if i%2 == 0 {
			a.Promote(i, hashOf(uint64(i)))
			a.Remove(i)
		}
	}
	if got := a.mainAge(); got < n/2 || got > n/2+n/mainCheckpoints {
		t.Errorf("main's oldest has age %d, want some %d", got, n/2)
	}
}

// TestFading: entries lose all marks if, twice in a row, old marks brought less than a quarter of
// what the room would have brought.
func TestFading(t *testing.T) {
	for _, test := range []struct {
		idle, used, again int
		before, all       bool
	}{
		{minIdle, 2, 8, true, false}, // 2 * 4 percent of 100 slots * 8 = 8 * 8
		{minIdle, 2, 9, true, true},
		{minIdle, 2, 9, false, false},
		{minIdle - 1, 0, 1000, true, false},
	} {
		var a Adaptive
		a.Resize(100)
		a.fading.worse = test.before
		a.fading.idle, a.fading.used, a.fading.again = test.idle, test.used, test.again
		if a.met(); a.fading.all != test.all {
			t.Errorf("%+v: entries lose all marks: %v", test, a.fading.all)
		}
	}
}

// TestMatch: match finds exactly the equal ones of four fingerprints.
func TestMatch(t *testing.T) {
	values := []uint64{1, 2, 3, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff}
	for _, f := range values {
		for k := range uint64(len(values) * len(values) * len(values)) {
			word := values[k%8] | values[k/8%8]<<16 | values[k/64]<<48
			want := uint64(0)
			for s := 0; s < 64; s += 16 {
				if word>>s&0xffff == f {
					want |= 0x8000 << s
				}
			}
			if got := match(word, f); got != want {
				t.Fatalf("%x is in %x at %x, want %x", f, word, got, want)
			}
		}
	}
}
