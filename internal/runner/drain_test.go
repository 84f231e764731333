package runner

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestDrainWaitsForTheLastWorker, and not for the first that has nothing more to do.
func TestDrainWaitsForTheLastWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var end [2]chan struct{}
		for i := range end {
			end[i] = make(chan struct{})
		}
		r := New(len(end), 10, func(i int) { <-end[i] }, nil)
		for i := range end {
			r.Push(uint64(i), i)
		}
		drained := false
		go func() {
			if err := r.Drain(context.Background()); err != nil {
				t.Error(err)
			}
			drained = true
		}()
		synctest.Wait()
		close(end[0])
		synctest.Wait()
		if drained {
			t.Error("Drain has returned, and a callback runs")
		}
		close(end[1])
		synctest.Wait()
		if !drained {
			t.Error("Drain has not returned, and no callback runs")
		}
	})
}

// TestStayingWorkerIsCounted: a worker that finds work again as it leaves is counted
// as one until it has left.
func TestStayingWorkerIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		p := NewPool(1, func() bool { return false }, func() bool { asked++; return asked < 5 }, nil)
		p.Wake()
		synctest.Wait()
		if n := p.Running(); n != 0 || asked != 5 {
			t.Errorf("Running is %d after ready was asked %d times, want 0 and 5", n, asked)
		}
		if err := p.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
