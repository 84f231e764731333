package ring

import "testing"

// TestDueListIsSmall checks that the due list has room for what is due at once, and not for all
// that left it, while a task that nobody takes stays at its head.
func TestDueListIsSmall(t *testing.T) {
	const tasks = 50
	r := ringAt(16, tasks, 0)
	hold := func(uint32) int64 { return Hold }
	r.Set(0, 1)
	r.Advance(1, 1, hold)
	for round := range 1000 {
		for i := range uint32(tasks - 1) {
			r.Set(1+i, r.Now()+1)
		}
		r.Advance(r.Now()+1, tasks, hold)
		if got, most := len(r.due.places), 4*tasks; got > most {
			t.Fatalf("round %d: %d places for %d tasks, want at most %d", round, got, tasks, most)
		}
		for i := range uint32(tasks - 1) {
			r.Remove(1 + i)
		}
		if err := check(r); err != nil {
			t.Fatal(err)
		}
	}
	if i, due, ok := r.Take(); i != 0 || due != 1 || !ok {
		t.Errorf("Take = %d, %d, %v, want 0, 1, true", i, due, ok)
	}
	r.Resize(tasks)
	if got := len(r.due.places); got != 0 {
		t.Errorf("%d places for no task", got)
	}
}
