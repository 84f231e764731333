// Package bubble tells the bubbles of testing/synctest from the rest of a program. A bubble has
// a clock of its own, and the runtime ends a process that touches a timer or a channel of a
// bubble from outside.
package bubble

import "time"

// A Side is where something is used, seen from where it was made.
type Side uint8

const (
	Home    Side = iota // both in a bubble, or neither
	Entered             // made outside, used in a bubble
	Left                // made in a bubble, used outside
)

// SideOf returns where the caller is, seen from where time.Now returned made. Two bubbles are
// not told apart.
func SideOf(made time.Time) Side {
	switch before, now := within(made), within(time.Now()); {
	case now && !before:
		return Entered
	case before && !now:
		return Left
	}
	return Home
}

// Inside reports whether the caller is in a bubble.
func Inside() bool { return within(time.Now()) }

// within reports whether a time was read in a bubble. Only there does time.Now have no
// monotonic reading.
func within(t time.Time) bool { return t == t.Round(0) }
