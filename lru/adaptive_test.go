package lru

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAdaptiveModel(t *testing.T) { rapid.Check(t, runAdaptiveModel) }

func FuzzAdaptive(f *testing.F) { f.Fuzz(rapid.MakeFuzz(runAdaptiveModel)) }

// A modelled is the code and the model, and the keys that the entries have.
type modelled struct {
	a    Adaptive
	m    adaptiveModel
	room uint32
	keys map[uint32]uint64
}

func runAdaptiveModel(t *rapid.T) {
	o := &modelled{m: adaptiveModel{marks: map[uint32]int{}}, keys: map[uint32]uint64{}}
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
		"evict": func(t *rapid.T) { o.evict(t, toSmall) },
		"rename": func(t *rapid.T) {
			from, ok := o.used(t)
			to, room := o.free()
			if ok && room {
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
		"dry": func(*rapid.T) { o.a.late, o.m.late = 2*dry, 2*dry }, // as after many loops
		"": func(t *rapid.T) {
			if err := o.m.check(&o.a); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// used draws an entry, if there is one.
func (o *modelled) used(t *rapid.T) (uint32, bool) {
	entries := o.m.entries()
	if len(entries) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(entries).Draw(t, "entry"), true
}

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
}

func (o *modelled) mark(i uint32) {
	o.a.Mark(i)
	o.m.marks[i] = min(o.m.marks[i]+1, maxMark)
}

func (o *modelled) remove(i uint32) {
	o.a.Remove(i)
	o.m.remove(i)
	delete(o.keys, i)
}

// hashOf is a hash of keys, of which neighbours have nothing in common.
func hashOf(key uint64) uint64 {
	h := key * 0x9E3779B97F4A7C15
	h = (h ^ h>>29) * 0xBF58476D1CE4E5B9
	return h ^ h>>32
}

// access is what a cache does for a key: a mark, or a new entry for which another
// one goes if need be.
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
	at := o.a.Admit(hashOf(key), !room)
	if want := o.m.admit(hashOf(key), !room); at != want {
		t.Fatalf("the place is %d, want %d", at, want)
	}
	if !room {
		i = o.evict(t, at)
	}
	o.a.Insert(i, at)
	o.m.insert(i, at)
	o.keys[i] = key
}

func (o *modelled) evict(t *rapid.T, at Place) uint32 {
	i, ok := o.a.Victim(at)
	if ok != (o.m.len() > 0) {
		t.Fatalf("a victim: %v, of %d entries", ok, o.m.len())
	}
	if !ok {
		return 0
	}
	if want := o.m.victim(at); i != want {
		t.Fatalf("the victim is %d, want %d", i, want)
	}
	o.a.Evict(i, hashOf(o.keys[i]))
	o.m.evict(i, hashOf(o.keys[i]))
	delete(o.keys, i)
	return i
}

// TestAdaptiveMovesFew: however many entries are marked, an eviction moves no more
// than patience and, for a key that comes back, tries.
func TestAdaptiveMovesFew(t *testing.T) {
	const n = 10_000
	a := new(Adaptive)
	a.Resize(n)
	for i := range uint32(n) {
		a.Insert(i, toMain)
		for range maxMark {
			a.Mark(i)
		}
	}
	before := slices.Collect(a.All())
	a.checks.now = 10 * n // main is old
	h := hashOf(7)
	a.ghost.add(h)
	if at := a.Admit(h, true); at != toSmall {
		t.Errorf("a key has place %d among entries that are all marked", at)
	}
	if got := slices.Index(slices.Collect(a.All()), before[0]); got != n-tries {
		t.Errorf("main's oldest is at %d, want %d after a challenge", got, n-tries)
	}
	if i, _ := a.Victim(toSmall); i != before[tries+patience] {
		t.Errorf("the victim is %d, want %d after so many were moved on", i, tries+patience)
	}
}

// TestAdaptiveAgesAfterRemovals: that entries are deleted or expire does not make the
// others look younger than they are.
func TestAdaptiveAgesAfterRemovals(t *testing.T) {
	const n = 3200
	a := new(Adaptive)
	a.Resize(n)
	for i := range uint32(n) {
		a.Insert(i, toMain)
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
			a.Evict(i, hashOf(uint64(i)))
		}
	}
	if got := a.mainAge(); got < n/2 || got > n/2+n/checkedPart {
		t.Errorf("main's oldest has age %d, want some %d", got, n/2)
	}
}

// TestPlaces: of four fingerprints exactly those are found that are equal, whatever
// the others are.
func TestPlaces(t *testing.T) {
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
			if got := places(word, f); got != want {
				t.Fatalf("%x is in %x at %x, want %x", f, word, got, want)
			}
		}
	}
}

func TestAdaptiveDoesNotAllocate(t *testing.T) {
	a := new(Adaptive)
	a.Resize(100)
	for i := range uint32(100) {
		a.Insert(i, toSmall)
	}
	key := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		key = (key + 1) % 150
		at := a.Admit(hashOf(key), true)
		i, _ := a.Victim(at)
		a.Evict(i, hashOf(key+1))
		a.Insert(i, at)
		a.Mark((i + 7) % 100)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
