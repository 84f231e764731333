package lru

import "testing"

// TestRenew: an entry whose slot goes to another key is as one that was just inserted.
func TestRenew(t *testing.T) {
	o, m := new(Order), &model{order: []uint32{1, 2, 0}, marks: map[uint32]int{1: 1}}
	o.Resize(3)
	for i := range uint32(3) {
		o.Insert(i)
	}
	o.Mark(0)
	o.Mark(1)
	o.Renew(0)
	if err := check(o, m); err != nil {
		t.Error(err)
	}
}
