// Package settle is for tests of what a program leaves behind. For goroutines it waits until those
// that end by themselves have ended, and then asks goleak. It also measures memory, and has Must.
package settle

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end, on a busy machine. goleak alone waits for
// less than half a second.
const patience = time.Minute

// ofWebAssembly ignores the goroutine in which the runtime of WebAssembly waits for JavaScript.
var ofWebAssembly = goleak.IgnoreAnyFunction("runtime.handleEvent")

// VerifyTestMain runs the tests of a package, and fails if they have left a goroutine.
func VerifyTestMain(m goleak.TestingM, options ...goleak.Option) {
	options = append(options, ofWebAssembly)
	goleak.VerifyTestMain(tests{m, options}, options...)
}

// VerifyNone fails the test if it has left a goroutine.
func VerifyNone(t testing.TB, options ...goleak.Option) {
	t.Helper()
	options = append(options, ofWebAssembly)
	wait(options)
	goleak.VerifyNone(t, options...)
}

// tests are the tests of a package.
type tests struct {
	m       goleak.TestingM
	options []goleak.Option
}

// Run runs the tests and, unless one has failed, waits for the goroutines that they have left.
func (t tests) Run() int {
	status := t.m.Run()
	if status == 0 {
		wait(t.options)
	}
	return status
}

// wait returns when no goroutine is left, at the latest after patience.
func wait(options []goleak.Option) {
	for end := time.Now().Add(patience); goleak.Find(options...) != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// Must ends a test with an error that it did not expect.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
