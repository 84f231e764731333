package settle

import (
	"runtime"
	"testing"
	"time"
)

type tests func() int

func (t tests) Run() int { return t() }

// Catches: a Run that does not wait, or forgets the status.
func TestRunWaitsForGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	status := Main(tests(func() int {
		go time.Sleep(50 * time.Millisecond) // real time: a pause can only make it longer
		return 0
	})).Run()
	if n := runtime.NumGoroutine(); status != 0 || n > before {
		t.Errorf("status %d, want 0; %d goroutines, want %d", status, n, before)
	}
	if status := Main(tests(func() int { return 3 })).Run(); status != 3 {
		t.Errorf("status %d, want 3", status)
	}
}
