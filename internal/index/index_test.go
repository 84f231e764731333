package index

import (
	"maps"
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

func FuzzIndex(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(hashes))).Draw(t, "hashes")
		runModel(t, hashes[name])
	}))
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
	if home.Passed(h) {
		return x.FindPassed(h, is)
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
	i := rapid.Uint32Max(MaxSlots-1).Filter(func(i uint32) bool { _, ok := m.hashes[i]; return !ok }).Draw(t, "slot")
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

// TestEveryGroupPassed looks for an absent key when so many keys passed over each
// group that its count stays, and so no count ends the search.
func TestEveryGroupPassed(t *testing.T) {
	const n, groups = 27, 3
	x := New(n)
	var homes []uint64 // a hash for each group, all of class 0
	for g := range uint64(groups) {
		homes = append(homes, g*(1<<32/groups+1)<<32|classes)
	}
	for _, h := range homes {
		for i := range uint32(n) {
			x.Insert(h, i)
		}
		for i := range uint32(n) {
			x.Remove(h, i)
		}
	}
	if len(x.groups) != groups {
		t.Fatalf("%d groups, want %d", len(x.groups), groups)
	}
	for g, h := range homes {
		if x.home(h) != g || x.groups[g].passed(0) != many {
			t.Fatalf("%d keys passed over group %d: the test is void", x.groups[g].passed(0), g)
		}
		if i, ok := find(&x, h, func(uint32) bool { return true }); ok {
			t.Errorf("Find(%#x) found slot %d", h, i)
		}
	}
	if err := x.Check(nil); err != nil {
		t.Error(err)
	}
}

// TestFarFromHome: a key that is further from home than its cell can tell is found and
// stays where it is, and so does what passed over the same groups.
func TestFarFromHome(t *testing.T) {
	const n = 600
	x := New(n)
	want := map[uint32]uint64{}
	for i := range uint32(n) {
		x.Insert(0, i)
		want[i] = 0
	}
	if len(want)/cells <= far+1 {
		t.Fatal("no key is far from home: the test is void")
	}
	for i := range uint32(n) {
		x.Remove(0, i)
		delete(want, i)
		if err := x.Check(want); err != nil {
			t.Fatalf("after %d removals: %v", i+1, err)
		}
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
		if room < n || room > n+2*cells {
			t.Errorf("New(%d) has room for %d", n, room)
		}
		if n > 0 && len(x.groups)%2 == 0 {
			t.Errorf("New(%d) has %d groups, to half of which most strides do not lead", n, len(x.groups))
		}
	}
}
