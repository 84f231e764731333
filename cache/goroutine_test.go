package cache

import "testing"

// TestGoroutineID checks that a goroutine has one number, which is not 0, and another one another.
//
// Catches: a version of Go whose stack traces begin otherwise. A Compute that changes its own key
// would then be called for ever.
func TestGoroutineID(t *testing.T) {
	other := make(chan uint64)
	go func() { other <- goroutineID() }()
	if id, its := goroutineID(), <-other; id == 0 || its == 0 || id == its || id != goroutineID() {
		t.Errorf("goroutine %d and another one, %d: want two numbers, none of them 0", id, its)
	}
}
