package lru

import "testing"

// TestLooksAhead: Ahead has returned each entry that is evicted, few of them twice, and
// none that was used.
func TestLooksAhead(t *testing.T) {
	for name, p := range map[string]Policy{"Order": new(Order), "Adaptive": new(Adaptive)} {
		t.Run(name, func(t *testing.T) {
			if ahead := p.Ahead(); ahead != nil {
				t.Errorf("Ahead of none = %d", ahead)
			}
			p.Resize(100)
			for i := range uint32(100) {
				p.Insert(i, hashOf(uint64(i)))
			}
			used := uint32(50)
			p.Mark(used)
			seen, ahead := map[uint32]bool{}, 0
			for range 90 {
				for _, i := range p.Ahead() {
					seen[i] = true
					ahead++
				}
				i, _ := p.Victim()
				if !seen[i] {
					t.Errorf("entry %d is evicted, and Ahead did not return it", i)
				}
				p.Evict(i, hashOf(uint64(i)))
			}
			if ahead < 90 || ahead > 90+lookahead {
				t.Errorf("Ahead returned %d entries for 90 that were evicted", ahead)
			}
			if seen[used] {
				t.Error("Ahead returned an entry that was used")
			}
		})
	}
}
