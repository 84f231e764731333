package lru

import (
	"slices"
	"testing"
)

// TestWalks: First and After go through an order as All does.
func TestWalks(t *testing.T) {
	const n = 500
	order, empty := new(Order), new(Order)
	order.Resize(n)
	empty.Resize(n)
	for i := range uint32(n) {
		order.Insert(n-1-i, 0)
	}
	order.Remove(7)
	emptied := new(Adaptive)
	emptied.Resize(n)
	for name, p := range map[string]Policy{
		"LRU": order, "LRU, empty": empty, "LRU without room": new(Order),
		"Adaptive": marked(200), "Adaptive, small only": marked(10_000), "Adaptive, empty": emptied, "Adaptive without room": new(Adaptive),
	} {
		var walked []uint32
		for i, ok := p.First(); ok; i, ok = p.After(i) {
			walked = append(walked, i)
		}
		if want := slices.Collect(p.All()); !slices.Equal(walked, want) || len(want) != p.Len() {
			t.Errorf("%s: walked to %d entries, All has %d, Len is %d", name, len(walked), len(want), p.Len())
		}
	}
}

// TestAdaptiveSplit: a part begins with small's share, and an entry that it adopts has the queue
// and the marks that it had.
func TestAdaptiveSplit(t *testing.T) {
	a := marked(200)
	last := uint32(a.Len() - 1)
	a.setTarget(share(a.slots, 20*unit))
	a.late = 3
	part := a.Split(a.slots / 2).(*Adaptive)
	if part.targetLen() != a.slots/10 || part.late != a.late || part.checks.now != a.checks.now || part.Len() != 0 {
		t.Errorf("small of the part is to be %d of %d, late %d, at time %d, with %d entries", part.targetLen(), part.slots, part.late, part.checks.now, part.Len())
	}
	part = a.Split(a.slots).(*Adaptive)
	for i := range a.All() {
		part.Adopt(last-i, a, i)
	}
	if part.len != a.len {
		t.Errorf("the queues have %d entries, want %d", part.len, a.len)
	}
	adopted := slices.Collect(part.All())
	for n, i := range slices.Collect(a.All()) {
		if j := adopted[n]; j != last-i || part.queueOf(j+firstEntry) != a.queueOf(i+firstEntry) || part.marks.get(j) != a.marks.get(i) {
			t.Fatalf("entry %d was adopted as %d, in queue %d with %d marks, not %d with %d", i, j,
				part.queueOf(j+firstEntry), part.marks.get(j), a.queueOf(i+firstEntry), a.marks.get(i))
		}
	}
	if fresh := new(Adaptive).Split(100).(*Adaptive); fresh.targetLen() != share(100, startPercent) {
		t.Errorf("small of a part of what evicted nothing is to be %d of 100", fresh.targetLen())
	}
}

// TestAdaptiveReweigh: the weight of a queue follows that of its entries.
func TestAdaptiveReweigh(t *testing.T) {
	a := marked(200)
	weights := slices.Repeat([]uint32{1}, a.slots)
	a.Weigh(weights)
	a.weight[small], a.weight[main] = uint64(a.len[small]), uint64(a.len[main])
	want := a.weight
	for i := range a.All() {
		a.Reweigh(i, 3)
		weights[i] = 3
	}
	want[small] *= 3
	want[main] *= 3
	if a.weight != want {
		t.Errorf("the queues weigh %d, want %d", a.weight, want)
	}
}
