// Package settle lets goroutines that end by themselves end before a test looks for leaks.
package settle

import (
	"runtime"
	"time"
)

// patience is how long goroutines may take to end, on a busy machine. goleak alone waits for
// less than half a second.
const patience = time.Minute

// Main returns a TestMain's m for goleak.VerifyTestMain. Its Run waits after the tests until
// there are no more goroutines than before.
func Main(m interface{ Run() int }) Tests { return Tests{m} }

// Tests are the tests of a package.
type Tests struct{ m interface{ Run() int } }

// Run runs the tests and, unless one failed, waits for a minute at most.
func (t Tests) Run() int {
	before := runtime.NumGoroutine()
	status := t.m.Run()
	for end := time.Now().Add(patience); status == 0 && runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return status
}
