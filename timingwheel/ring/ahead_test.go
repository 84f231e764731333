package ring

import "testing"

// TestRingAhead: Ahead has returned every task that is visited, but for those at which a visit
// asks for more, over several ticks and calls of Advance; HeldAhead every task that Take takes.
// Neither returns one twice.
func TestRingAhead(t *testing.T) {
	const tasks = 1000
	r := ringAt(16, tasks, 0)
	for i := range uint32(tasks) {
		r.Set(i, 1+int64(i/100))
	}
	ahead, held := map[uint32]int{}, map[uint32]int{}
	visits, unseen, taken := 0, 0, 0
	for !r.Advance(10, 64, func(i uint32) int64 {
		visits++
		if ahead[i] == 0 {
			unseen++
		}
		for _, j := range r.Ahead() {
			ahead[j]++
		}
		return Hold
	}) {
	}
	for ; r.Held() > 0; taken++ {
		for _, i := range r.HeldAhead() {
			held[i]++
		}
		if i, _, ok := r.Take(); !ok || held[i] != 1 || ahead[i] > 1 {
			t.Errorf("Take = %d, %v; Ahead returned it %d times, HeldAhead %d", i, ok, ahead[i], held[i])
		}
	}
	if visits != tasks || unseen > tasks/Lookahead+10 || len(ahead) != tasks-unseen {
		t.Errorf("%d visits, %d of tasks that were not returned before, %d returned", visits, unseen, len(ahead))
	}
	if taken != tasks || len(held) != tasks || len(r.HeldAhead()) != 0 {
		t.Errorf("%d taken, %d returned", taken, len(held))
	}
}
