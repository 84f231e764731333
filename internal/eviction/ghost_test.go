package eviction

import "testing"

// TestRecentIsASample: of many entries, the keys in a sample move the target of small, each
// for several.
func TestRecentIsASample(t *testing.T) {
	const n, each = 10_000, 16 // 400 recent victims of a queue, 25 of them in the sample
	for _, test := range []struct {
		q    uint32
		h    uint64
		want int // how far the target moves
	}{
		{small, 1 << 40, each * unit},
		{small, 1<<40 | 3, 0},
		{main, 1<<40 | 16, -each * 3 * unit / 2},
		{main, 1<<40 | 2, 0},
	} {
		var a Adaptive
		a.Resize(n)
		a.push(test.q, firstEntry)
		before := a.target
		a.Promote(0, test.h)
		a.Remove(0)
		a.Insert(0, test.h)
		a.Remove(0)
		a.Insert(0, test.h) // forgotten by now
		if got := a.target - before; got != test.want {
			t.Errorf("a key of queue %d with hash %b came back: the target moved by %d, want %d", test.q, test.h, got, test.want)
		}
	}
}

// TestSampleOfRecent: a sample has at least 16 keys of a queue.
func TestSampleOfRecent(t *testing.T) {
	for _, test := range []struct{ keys, each, rows int }{{3, 1, 1}, {31, 1, 7}, {32, 2, 4}, {1250, 64, 4}, {40_000, 2048, 4}} {
		r := newRecent(test.keys)
		if r.each() != test.each || len(r.rows) != test.rows {
			t.Errorf("of %d keys one in %d, in %d rows; want %d and %d", test.keys, r.each(), len(r.rows), test.each, test.rows)
		}
	}
}
