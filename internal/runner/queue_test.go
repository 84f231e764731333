package runner

import (
	"testing"

	"pgregory.net/rapid"
)

// blocks returns the number of blocks that q holds on to, and fails if an
// element is left where none should be.
func blocks[E comparable](t interface{ Fatalf(string, ...any) }, q *queue[E]) int {
	var zero E
	n := 0
	check := func(b *block[E], from, to int) {
		n++
		for i, e := range b.elems {
			if (i < from || i >= to) && e != zero {
				t.Fatalf("place %d of a block, outside [%d, %d), holds %v", i, from, to, e)
			}
		}
	}
	if q.unused != nil {
		if q.unused.next != nil {
			t.Fatalf("the unused block has a next block")
		}
		check(q.unused, 0, 0)
	}
	for b := q.head; b != nil; b = b.next {
		from, to := 0, blockLen
		if b == q.head {
			from = q.front
		}
		if b == q.tail {
			to = q.back
		}
		check(b, from, to)
		if b.next == nil && b != q.tail {
			t.Fatalf("the last block is not the tail")
		}
	}
	return n
}

// length counts the elements of q.
func length[E any](q *queue[E]) int {
	n := 0
	for b := q.head; b != nil; b = b.next {
		n += blockLen
	}
	if n > 0 {
		n -= q.front + blockLen - q.back
	}
	return n
}

func TestQueueAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue[int]
		var model []int
		next := 1
		for _, n := range rapid.SliceOfN(rapid.IntRange(-3*blockLen, 3*blockLen), 1, 30).Draw(t, "pushes and pops") {
			for ; n > 0; n-- {
				q.push(next)
				model = append(model, next)
				next++
			}
			for ; n < 0; n++ {
				got, ok := q.pop()
				if wantOK := len(model) > 0; ok != wantOK {
					t.Fatalf("pop: got ok = %v, want %v", ok, wantOK)
				}
				if !ok {
					continue
				}
				if got != model[0] {
					t.Fatalf("pop: got %d, want %d", got, model[0])
				}
				model = model[1:]
			}
			if got, want := length(&q), len(model); got != want {
				t.Fatalf("length: got %d, want %d", got, want)
			}
			if got, most := blocks(t, &q), len(model)/blockLen+3; got > most {
				t.Fatalf("%d elements: %d blocks, want at most %d", len(model), got, most)
			}
		}
	})
}
