// Package settle looks for goroutines that tests have left, and gives those that end by
// themselves time to end.
package settle

import (
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end, on a busy machine. goleak alone waits for
// less than half a second.
const patience = time.Minute

// VerifyTestMain runs the tests of a package, and fails if one of them has left a goroutine.
func VerifyTestMain(m goleak.TestingM) { goleak.VerifyTestMain(tests{m}) }

// tests are the tests of a package.
type tests struct{ m goleak.TestingM }

// Run runs the tests and, unless one failed, waits for a minute at most.
func (t tests) Run() int {
	status := t.m.Run()
	for end := time.Now().Add(patience); status == 0 && goleak.Find() != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return status
}
