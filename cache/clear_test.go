package cache

import "testing"

// TestClearIsOneMomentForEachKey changes keys between the holds of the lock of a Clear that reports events. One
// that it has passed keeps what it is given afterwards.
//
// Catches: a Clear that passes a load, or removes a value, and later removes what its key got after that.
func TestClearIsOneMomentForEachKey(t *testing.T) {
	c := Must(Options[int, int]{Limit: 1000, OnRemove: func(Event[int, int]) {}})
	defer mustClose(t, c)
	for key := range 3 * perHold {
		c.Set(2+key, key)
	}
	begun, goOn, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	for _, key := range []int{-1, 1} {
		go func() {
			_, _ = c.Take(key, func() (int, error) { begun <- struct{}{}; <-goOn; return -2, nil })
			done <- struct{}{}
		}()
		<-begun
	}
	c.Set(1, 1) // this one has a value beside its load
	s := &c.common.table.Load().shards[0]
	holds := 0
	s.clear(func(reported bool) {
		switch holds++; holds {
		case 1:
			if _, ok := c.Get(1); ok {
				t.Error("the value whose load was passed is there")
			}
			c.Set(-1, 7)
			c.Set(1, 8)
		case 2: // the first batch is removed
			if _, ok := c.Get(2); ok || !c.Del(3*perHold) {
				t.Error("the first key is there, or one of the last batch is not")
			}
			c.Set(2, 9) // in the slot that is free now
		}
		c.common.observers.settle(reported)
	})
	close(goOn)
	<-done
	<-done
	for key, want := range map[int]int{-1: 7, 1: 8, 2: 9} {
		if got, ok := c.Get(key); got != want || !ok {
			t.Errorf("Get(%d) = %d, %v, want what was set after it was passed", key, got, ok)
		}
	}
	if holds < 3 || c.Len() != 3 {
		t.Errorf("%d holds, %d entries left", holds, c.Len())
	}
}
