// Package bubble tells whether a program runs in a bubble of testing/synctest, for which Go has no
// function.
//
// In a bubble time.Now returns a time without a monotonic reading, and elsewhere one with it. Package
// time does not promise that: see runtimeNow in package runtime. If a version of Go changes it,
// TestIn fails. What is used only where it was made works as before. But nobody notices what crosses
// the border of a bubble: a wheel does not panic, and the page of package stats, which reads the
// clocks of all caches, makes the values of a cache in a bubble expire.
package bubble

import "time"

// In reports whether the calling goroutine is in a bubble.
func In() bool { return Read(time.Now()) }

// Read reports whether a time was read from time.Now in a bubble.
func Read(t time.Time) bool { return t == t.Round(0) } // Round removes the monotonic reading
