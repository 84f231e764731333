package index

import (
	"math/rand/v2"
	"testing"
)

// A churn is a full index in which every key is removed in turn for a new one, as in a
// cache that evicts.
type churn struct {
	Index
	keys []uint64 // by slot number; their own hashes
}

func newChurn(n int) *churn {
	c := &churn{New(n), make([]uint64, n)}
	for i := range c.keys {
		c.keys[i] = rand.Uint64()
		c.Insert(c.keys[i], uint32(i))
	}
	return c
}

// turnOver replaces all keys, one after another.
func (c *churn) turnOver() {
	for i := range c.keys {
		c.Remove(c.keys[i], uint32(i))
		c.keys[i] = rand.Uint64()
		c.Insert(c.keys[i], uint32(i))
	}
}

// visits returns the mean numbers of groups that a search for a key visits, for one that
// is there and one that is absent.
func (c *churn) visits() (hit, miss float64) {
	for i, key := range c.keys {
		for g := c.home(key); ; g = c.next(g, class(tag(key))) {
			hit++
			if c.groups[g].has(tag(key), uint32(i)) {
				break
			}
		}
		absent := rand.Uint64()
		for g := c.home(absent); ; g = c.next(g, class(tag(absent))) {
			miss++
			if !c.groups[g].Passed(absent) {
				break
			}
		}
	}
	n := float64(len(c.keys))
	return hit / n, miss / n
}

// has reports whether g has slot i under a tag.
func (g *Group) has(tag uint64, i uint32) bool {
	for m := g.match(tag); m != 0; m = m.Next() {
		if g.Slot(m) == i {
			return true
		}
	}
	return false
}

// TestChurn: however often all keys of a full index were replaced, most are in their home
// groups, and few searches for others leave theirs.
func TestChurn(t *testing.T) {
	for _, n := range []int{100, 2000, 20000} {
		c := newChurn(n)
		for range 50 {
			c.turnOver()
		}
		if hit, miss := c.visits(); hit > 1.2 || miss > 1.3 {
			t.Errorf("after 50 turnovers of %d keys, a hit visits %.2f groups and a miss %.2f, want at most 1.2 and 1.3", n, hit, miss)
		}
	}
}
