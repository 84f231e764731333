package lincheck

import (
	"slices"
	"testing"
)

// TestExplainSortsByTime checks that a history has the same faults in any order of its
// operations, such as that of the goroutines.
func TestExplainSortsByTime(t *testing.T) {
	at := func(op Op, client int, call int64) Op {
		op.Client, op.Call, op.Return = client, call, call+5
		return op
	}
	history := []Op{
		at(set(201), 1, 0),
		at(set(400), 0, 10), at(hit(201), 0, 20), at(hit(400), 0, 30),
	}
	byGoroutine := append(slices.Clone(history[1:]), history[0])
	want, got := explain(Promises{}, operations(history)), explain(Promises{}, operations(byGoroutine))
	if want == 0 || got != want {
		t.Errorf("explained by %v, in another order by %v", want, got)
	}
}
