package index

import "fmt"

// Check returns an error unless the index has exactly the given slots, each
// under its hash, where a search for that hash finds it, and every group counts
// correctly the keys that passed over it. It is for tests, and slow.
func (x *Index) Check(hashes map[uint32]uint64) error {
	spills := make([]uint64, len(x.groups))
	seen := map[uint32]bool{}
	for g := range x.groups {
		for c := range cells {
			t := x.groups[g].tags[c/8] >> (c % 8 * 8) & 0xff
			if t == 0 {
				continue
			}
			i := x.groups[g].slots[c]
			h, ok := hashes[i]
			if !ok || seen[i] {
				return fmt.Errorf("the index has slot %d, which should not be there or is there twice", i)
			}
			seen[i] = true
			if t != tag(h) {
				return fmt.Errorf("slot %d has tag %d in the index, want %d", i, t, tag(h))
			}
			for p := x.home(h); p != g; p = x.next(p) {
				spills[p]++
			}
		}
	}
	if len(seen) != len(hashes) {
		return fmt.Errorf("the index has %d slots, want %d", len(seen), len(hashes))
	}
	for g, want := range spills {
		if got := x.groups[g].tags[1] / spill; got != want {
			return fmt.Errorf("group %d of the index was passed over %d times, counted %d", g, want, got)
		}
	}
	return nil
}
