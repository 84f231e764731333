package settle

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

type stub func() int

func (s stub) Run() int { return s() }

// Catches: a Run that does not wait, or forgets the status.
func TestRunWaitsForGoroutines(t *testing.T) {
	status := tests{m: stub(func() int {
		go time.Sleep(2 * time.Second) // more than goleak itself waits
		return 0
	})}.Run()
	if err := goleak.Find(); status != 0 || err != nil {
		t.Errorf("status %d, want 0; %v", status, err)
	}
	if status := (tests{m: stub(func() int { return 3 })}).Run(); status != 3 {
		t.Errorf("status %d, want 3", status)
	}
}
