package index

import "fmt"

// Check returns an error unless the index has exactly the given slots, each where a search for
// its hash finds it and with its distance from home, and every group has the right counts of the
// keys that passed over it. It is for tests, and slow.
func (x *Index) Check(hashes map[uint32]uint64) error {
	passed := make([][classes]uint64, len(x.groups))
	seen := map[uint32]bool{}
	for g := range x.groups {
		for c := range uint(cells) {
			t, i := x.groups[g].tag(c), x.groups[g].slot(c)
			if t == 0 {
				continue
			}
			h, ok := hashes[i]
			if !ok || seen[i] {
				return fmt.Errorf("the index has slot %d, which should not be there or is there twice", i)
			}
			seen[i] = true
			if t != tag(h) {
				return fmt.Errorf("slot %d has tag %d in the index, want %d", i, t, tag(h))
			}
			distance := uint32(0)
			for p := x.home(h); p != g; p = x.next(p, class(t)) {
				passed[p][class(t)]++
				distance++
			}
			if got := x.groups[g].distance(c); got != min(distance, far) {
				return fmt.Errorf("slot %d is %d groups from home, the index has %d", i, distance, got)
			}
		}
	}
	if len(seen) != len(hashes) {
		return fmt.Errorf("the index has %d slots, want %d", len(seen), len(hashes))
	}
	for g, counts := range passed {
		for class, want := range counts {
			if got := x.groups[g].passed(uint64(class)); got != want && got != many {
				return fmt.Errorf("group %d of the index was passed over %d times by keys of class %d, counted %d", g, want, class, got)
			}
		}
	}
	return nil
}
