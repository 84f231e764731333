package eviction

import "testing"

// fill makes room for n entries, and inserts them.
func fill(p Policy, n int) {
	p.Resize(n)
	for i := range uint32(n) {
		p.Insert(i, hashOf(uint64(i)))
	}
}

// TestLooksAhead: Ahead has returned each entry that is evicted, few of them twice, and
// none that was used.
func TestLooksAhead(t *testing.T) {
	for name, p := range map[string]Policy{"Order": new(Order), "Adaptive": new(Adaptive)} {
		t.Run(name, func(t *testing.T) {
			if ahead := p.Ahead(); ahead != nil {
				t.Errorf("Ahead of none = %d", ahead)
			}
			fill(p, 100)
			used := uint32(50)
			p.Mark(used)
			seen, ahead := map[uint32]bool{}, 0
			for range 90 {
				for _, next := range p.Ahead() {
					seen[next.Entry] = true
					ahead++
				}
				i, _ := p.Victim()
				if !seen[i] {
					t.Errorf("entry %d is evicted, and Ahead did not return it", i)
				}
				p.Promote(i, hashOf(uint64(i)))
				p.Remove(i)
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

// TestAdaptiveLooksAheadInMain: Ahead has returned each entry that main gives up.
func TestAdaptiveLooksAheadInMain(t *testing.T) {
	var a Adaptive
	a.Resize(200)
	for i := range uint32(200) {
		a.push(main, i+firstEntry)
	}
	seen := map[uint32]bool{}
	for n := range 150 {
		for next := a.Ahead(); next != nil; next = a.Ahead() {
			for _, e := range next {
				seen[e.Entry] = true
			}
		}
		i, _ := a.Victim()
		if !seen[i] {
			t.Fatalf("entry %d is evicted after %d others, and Ahead did not return it", i, n)
		}
		a.Promote(i, hashOf(uint64(i)))
		a.Remove(i)
	}
}

func TestDoesNotAllocate(t *testing.T) {
	for name, p := range map[string]Policy{"Order": new(Order), "Adaptive": new(Adaptive)} {
		fill(p, 100)
		key := uint64(0)
		if n := testing.AllocsPerRun(1000, func() {
			key = (key + 1) % 150
			p.Prefetch(p.Ahead())
			i, _ := p.Victim()
			if p.Promote(i, hashOf(key+1)) {
				i, _ = p.Victim()
			}
			p.Remove(i)
			p.Insert(i, hashOf(key))
			p.Mark((i + 7) % 100)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
