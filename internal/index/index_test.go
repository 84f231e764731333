package index

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// hashes are what the model is tested with: good ones, ones that send all keys
// to one cell, and ones with two tags and homes.
var hashes = map[string]uint64{
	"good":      1<<64 - 1,
	"constant":  0,
	"truncated": 1<<63 | 1<<8 | 1,
}

// TestModel compares an index with a map of hashes, on a stream of random
// operations, and checks the invariants after each.
func TestModel(t *testing.T) {
	for name, mask := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { runModel(t, mask) })
		})
	}
}

// A modelIndex has a hash for every slot.
type modelIndex struct {
	Index
	room   int
	hashes map[uint32]uint64 // of the slots that are in the index
	mask   uint64
}

func runModel(t *rapid.T, mask uint64) {
	m := &modelIndex{hashes: map[uint32]uint64{}, mask: mask}
	m.resize(t)
	t.Repeat(map[string]func(*rapid.T){
		"insert": m.insert,
		"fill": func(t *rapid.T) {
			for len(m.hashes) < m.room {
				m.insert(t)
			}
		},
		"remove": m.remove,
		"find":   m.find,
		"resize": m.resize,
		"": func(t *rapid.T) {
			if err := m.Check(m.hashes); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// find searches as callers do.
func find(x *Index, h uint64, is func(i uint32) bool) (i uint32, ok bool) {
	home := x.Home(h)
	for m := home.Match(h); m != 0; m = m.Next() {
		if i := home.Slot(m); is(i) {
			return i, true
		}
	}
	if home.Spilled() {
		return x.FindSpilled(h, is)
	}
	return 0, false
}

// slots returns the slots that are in the index, in an order that is the same in
// every run.
func (m *modelIndex) slots() []uint32 { return slices.Sorted(maps.Keys(m.hashes)) }

// resize makes a new index, as its user does.
func (m *modelIndex) resize(t *rapid.T) {
	m.room = rapid.IntRange(len(m.hashes), 80).Draw(t, "room")
	m.Index = New(m.room)
	for _, i := range m.slots() {
		m.Insert(m.hashes[i], i)
	}
}

func (m *modelIndex) insert(t *rapid.T) {
	if len(m.hashes) == m.room {
		return
	}
	i := rapid.Uint32().Filter(func(i uint32) bool { _, ok := m.hashes[i]; return !ok }).Draw(t, "slot")
	h := rapid.Uint64().Draw(t, "hash") & m.mask
	m.hashes[i] = h
	m.Insert(h, i)
}

func (m *modelIndex) remove(t *rapid.T) {
	if len(m.hashes) == 0 {
		return
	}
	i := rapid.SampledFrom(m.slots()).Draw(t, "slot")
	m.Remove(m.hashes[i], i)
	delete(m.hashes, i)
}

// find looks for all slots under their hashes, and for none under any hash.
func (m *modelIndex) find(t *rapid.T) {
	for _, want := range m.slots() {
		if i, ok := find(&m.Index, m.hashes[want], func(i uint32) bool { return i == want }); i != want || !ok {
			t.Fatalf("Find of slot %d = %d, %v", want, i, ok)
		}
	}
	h := rapid.Uint64().Draw(t, "hash") & m.mask
	called := map[uint32]bool{}
	i, ok := find(&m.Index, h, func(i uint32) bool {
		if _, there := m.hashes[i]; !there || called[i] {
			t.Errorf("Find asks for slot %d, which is not there or was asked for before", i)
		}
		called[i] = true
		return false
	})
	if i != 0 || ok {
		t.Fatalf("Find of nothing = %d, %v", i, ok)
	}
	for i, other := range m.hashes {
		if h == other && !called[i] {
			t.Errorf("Find did not ask for slot %d, which has the hash", i)
		}
	}
}

// TestEveryGroupSpilled looks for an absent key when keys have passed over every
// group of the index, so that no count ends the search.
func TestEveryGroupSpilled(t *testing.T) {
	x := New(16) // two groups of twelve
	homes := [2]uint64{0, 1 << 63}
	want := map[uint32]uint64{}
	insert := func(i uint32, h uint64) {
		x.Insert(h, i)
		want[i] = h
	}
	for i := range uint32(13) {
		insert(i, homes[0]) // the last one passes over group 0 and lives in group 1
	}
	for i := range uint32(11) {
		x.Remove(homes[0], i)
		insert(i, homes[1]) // group 1 is full
	}
	insert(13, homes[1]) // passes over group 1 and lives in group 0
	if len(x.groups) != 2 || !x.groups[0].Spilled() || !x.groups[1].Spilled() {
		t.Fatal("not every group has spilled: the test is void")
	}
	for _, h := range homes {
		if i, ok := find(&x, h, func(uint32) bool { return false }); ok {
			t.Errorf("Find(%#x) found slot %d", h, i)
		}
	}
	if err := x.Check(want); err != nil {
		t.Error(err)
	}
}

func TestNoRoom(t *testing.T) {
	x := New(0)
	if i, ok := find(&x, 1<<64-1, func(uint32) bool { return true }); ok {
		t.Errorf("Find found slot %d in an empty index", i)
	}
	if err := x.Check(nil); err != nil {
		t.Error(err)
	}
}

// TestSize: a group is a cache line, and what New makes is neither too full nor
// much too big.
func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Group{}); size != 64 {
		t.Errorf("a group has %d bytes", size)
	}
	for n := range 1000 {
		x := New(n)
		room := len(x.groups) * cells * maxLoad / maxLoadOf
		if room < n || room > n+cells {
			t.Errorf("New(%d) has room for %d", n, room)
		}
	}
}

func Benchmark(b *testing.B) {
	const n = 100_000
	keys := make([]uint64, 2*n) // their own hashes; the second half is absent
	for i := range keys {
		keys[i] = rand.Uint64()
	}
	x := New(n)
	for i, key := range keys[:n] {
		x.Insert(key, uint32(i))
	}
	for name, from := range map[string]int{"hit": 0, "miss": n} {
		b.Run("Find "+name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				key := keys[from+i%n]
				find(&x, key, func(i uint32) bool { return keys[i] == key })
			}
		})
	}
	b.Run("Remove and Insert", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			x.Remove(keys[i%n], uint32(i%n))
			x.Insert(keys[i%n], uint32(i%n))
		}
	})
}
