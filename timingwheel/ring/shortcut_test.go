package ring

import "testing"

// ringInOneSlot returns a ring whose tasks are all due at tick 7.
func ringInOneSlot(tasks int) *Ring {
	r := ringAt(16, tasks, 0)
	for i := range uint32(tasks) {
		r.Set(i, 7)
	}
	return r
}

// TestRingShortcuts checks that each task of a list leads to the next milestone, also after it
// was made due later, and that readAhead thereby reads many at once.
func TestRingShortcuts(t *testing.T) {
	const tasks = 1000
	r := ringInOneSlot(tasks)
	for i := range uint32(tasks / 2) {
		r.Set(2*i, 7+int64(i%5)) // stays in its slot
	}
	head := r.levels[0].heads[7]
	next := uint32(none)
	for i := range uint32(tasks) { // from the end of the list on
		if got := r.tasks[i].circle; got != next || !r.tasks[i].hasShortcut() {
			t.Fatalf("task %d leads to %d, want %d", i, got, next)
		}
		if next == none || milestone(i) {
			next = i
		}
	}
	if got := r.readAhead(head); got < 4*stretches {
		t.Errorf("readAhead reads %d tasks at once, want at least %d", got, 4*stretches)
	}
}

// TestRingShortcutsAreHints checks that tasks may get other numbers, and their milestones leave.
func TestRingShortcutsAreHints(t *testing.T) {
	const tasks, left = 1000, 200
	r := ringInOneSlot(tasks)
	for i := range uint32(tasks - left) {
		if milestone(i) {
			r.Set(i, 3) // into another list
		}
	}
	visited := 0
	r.Advance(3, tasks, func(uint32) int64 { visited++; return 0 })
	for i := range uint32(tasks - left) {
		r.Forget(i)
	}
	for i := range uint32(left) {
		r.Rename(tasks-left+i, i)
	}
	r.Resize(left)
	if err := check(r); err != nil {
		t.Fatal(err)
	}
	at := 0
	r.Advance(7, tasks, func(uint32) int64 { at++; return 0 })
	if at != left || visited == 0 {
		t.Errorf("%d and %d tasks visited, want some and %d", visited, at, left)
	}
}
