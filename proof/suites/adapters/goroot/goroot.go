// Package goroot has what tests of the standard library use of its internal packages.
package goroot

import "testing"

// Enabled is false: the tests run without the address sanitizer.
const Enabled = false

// SkipIfOptimizationOff does nothing: the compiler optimizes.
func SkipIfOptimizationOff(testing.TB) {}

// SkipFlaky skips a test that the Go issue with that number is about.
func SkipFlaky(t testing.TB, issue int) {
	t.Helper()
	t.Skipf("go.dev/issue/%d", issue)
}
