package eviction

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// model is the order as a slice, oldest first, and the marks.
type model struct {
	order []uint32
	marks map[uint32]int
}

// victim is the second-chance algorithm on slices.
func (m *model) victim() uint32 {
	for range maxMoves {
		i := m.order[0]
		if m.marks[i] == 0 {
			break
		}
		m.marks[i]--
		m.order = append(m.order[1:], i)
	}
	return m.order[0]
}

// check compares the order with the model, in both directions.
func check(o *Order, m *model) error {
	if got := slices.Collect(o.All()); !slices.Equal(got, m.order) || o.Len() != len(m.order) {
		return fmt.Errorf("the order is %v, %d entries; want %v", got, o.Len(), m.order)
	}
	if len(o.links) > 0 {
		var back []uint32
		for p := o.links[0].prev; p != 0; p = o.links[p].prev {
			back = append(back, p-1)
		}
		if slices.Reverse(back); !slices.Equal(back, m.order) {
			return fmt.Errorf("backwards the order is %v, want %v", back, m.order)
		}
	}
	for _, i := range m.order {
		word, shift := o.marks.at(i)
		if got := int(*word >> shift & maxMark); got != m.marks[i] {
			return fmt.Errorf("entry %d has mark %d, want %d", i, got, m.marks[i])
		}
	}
	return nil
}

// drawn draws one of the entries, if there is one.
func drawn(t *rapid.T, entries []uint32) (uint32, bool) {
	if len(entries) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(entries).Draw(t, "entry"), true
}

func TestOrderModel(t *testing.T) { rapid.Check(t, orderModel) }

func FuzzOrder(f *testing.F) { f.Fuzz(rapid.MakeFuzz(orderModel)) }

func orderModel(t *rapid.T) {
	o, m := new(Order), &model{marks: map[uint32]int{}}
	room := uint32(0)
	// used draws an entry of the order, and free returns one outside it. Without one an
	// action does nothing.
	used := func(t *rapid.T) (uint32, bool) { return drawn(t, m.order) }
	free := func() (uint32, bool) {
		for i := range room {
			if !slices.Contains(m.order, i) {
				return i, true
			}
		}
		return 0, false
	}
	t.Repeat(map[string]func(*rapid.T){
		"insert": func(t *rapid.T) {
			if i, ok := free(); ok {
				o.Insert(i, 0)
				m.order, m.marks[i] = append(m.order, i), 0
			}
		},
		"replace": func(t *rapid.T) {
			if i, ok := used(t); ok {
				o.Replace(i, 0)
				m.order, m.marks[i] = append(slices.DeleteFunc(m.order, func(j uint32) bool { return i == j }), i), 0
			}
		},
		"mark": func(t *rapid.T) {
			if i, ok := used(t); ok {
				o.Mark(i)
				m.marks[i] = min(m.marks[i]+1, maxMark)
			}
		},
		"remove": func(t *rapid.T) {
			if i, ok := used(t); ok {
				o.Remove(i)
				m.order = slices.DeleteFunc(m.order, func(j uint32) bool { return i == j })
			}
		},
		"victim": func(t *rapid.T) {
			got, ok := o.Victim()
			if ok != (len(m.order) > 0) || ok && got != m.victim() {
				t.Fatalf("the victim is %d, %v; the order %v", got, ok, m.order)
			}
		},
		"rename": func(t *rapid.T) {
			from, ok := used(t)
			to, room := free()
			if ok && room {
				o.Rename(from, to)
				m.order[slices.Index(m.order, from)] = to
				m.marks[to] = m.marks[from]
			}
		},
		"resize": func(t *rapid.T) {
			least := uint32(0)
			if len(m.order) > 0 {
				least = slices.Max(m.order) + 1
			}
			room = rapid.Uint32Range(least, least+20).Draw(t, "room")
			o.Resize(int(room))
		},
		"": func(t *rapid.T) {
			if err := check(o, m); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// TestVictimIsBounded: an eviction after reads alone moves at most maxMoves entries to the newest end.
func TestVictimIsBounded(t *testing.T) {
	const n = 10_000
	o := new(Order)
	fill(o, n)
	for i := range uint32(n) {
		for range maxMark {
			o.Mark(i)
		}
	}
	if i, _ := o.Victim(); i != maxMoves {
		t.Errorf("the victim is %d, want %d after that many were moved on", i, maxMoves)
	}
}

// TestMarksBesideEachOther: marks that share a word do not change each other, however many
// goroutines set them.
func TestMarksBesideEachOther(t *testing.T) {
	o := new(Order)
	fill(o, marksPerWord)
	var wg sync.WaitGroup
	for g := range uint32(4) {
		wg.Go(func() {
			for k := range uint32(1000) {
				o.Mark((k*4 + g) % marksPerWord &^ 1) // even ones only
			}
		})
	}
	wg.Wait()
	for i := range uint32(marksPerWord) {
		word, shift := o.marks.at(i)
		got, want := *word>>shift&maxMark, uint32(maxMark)
		if i%2 == 1 {
			want = 0
		}
		if got != want {
			t.Errorf("entry %d has mark %d, want %d", i, got, want)
		}
	}
}
