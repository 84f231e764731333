package timingwheel

import "testing"

// TestRingAhead: Ahead has returned every task that is visited, but for those at which a
// visit asks for more, and none twice; also over several ticks and calls of Advance.
func TestRingAhead(t *testing.T) {
	const tasks = 1000
	r := NewRing(16)
	r.Resize(tasks)
	for i := range uint32(tasks) {
		r.Set(i, 1+int64(i/100))
	}
	returned := map[uint32]int{}
	visits, unseen := 0, 0
	for !r.Advance(10, 64, func(i uint32) int64 {
		visits++
		if returned[i] == 0 {
			unseen++
		}
		for _, j := range r.Ahead() {
			returned[j]++
		}
		return 0
	}) {
	}
	for i, n := range returned {
		if n > 1 {
			t.Errorf("task %d was returned %d times", i, n)
		}
	}
	if visits != tasks || unseen > tasks/lookahead+10 || len(returned) != tasks-unseen {
		t.Errorf("%d visits, %d of tasks that were not returned before, %d returned", visits, unseen, len(returned))
	}
}

// TestRingHeldAhead: HeldAhead has returned every task that Take takes, each once.
func TestRingHeldAhead(t *testing.T) {
	const tasks = 100
	r := NewRing(16)
	r.Resize(tasks)
	for i := range uint32(tasks) {
		r.Set(i, 1)
	}
	r.Advance(1, tasks, func(uint32) int64 { return Hold })
	returned := map[uint32]int{}
	taken := 0
	for r.Held() > 0 {
		for _, i := range r.HeldAhead() {
			returned[i]++
		}
		i, _, ok := r.Take()
		if !ok || returned[i] != 1 {
			t.Errorf("Take = %d, %v; HeldAhead returned it %d times", i, ok, returned[i])
		}
		taken++
	}
	if taken != tasks || len(returned) != tasks {
		t.Errorf("%d taken, %d returned", taken, len(returned))
	}
	if n := len(r.HeldAhead()); n != 0 {
		t.Errorf("HeldAhead of none returns %d", n)
	}
}
