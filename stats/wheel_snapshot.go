package stats

// A WheelSnapshot has the counts of one timing wheel. Counters are cumulative since the wheel
// was made; gauges, marked as such, are the present state. Its parts are read one after another
// while the wheel is in use, and may differ by what happened in between. A new timing wheel has
// the zero WheelSnapshot.
//
// A WheelSnapshot is a value without pointers: it may be copied, compared with == and read
// by several goroutines.
type WheelSnapshot struct {
	Expiry

	Running int // gauge: callbacks running now

	// Started counts the timers set. A timer that repeats counts for each of its calls. Moving
	// a timer does not count, nor does setting the timer of a key that has one.
	Started uint64

	// Moved counts the timers that got another time: by MoveTimer, by SetTimer of a key that has
	// one, and by Reset of a timer that repeats or to an earlier time. Another Reset to a later time leaves no
	// trace before the wheel visits the timer.
	Moved uint64

	// Visits counts the timers and tombstones that the wheel has come by, Relinks the timers that it has
	// put into another slot: at a move to an earlier time, or at a visit of one that was moved to a
	// later time, whose delay is longer than a revolution, or which repeats and sends on a channel. Moves to
	// later times add to neither until the wheel comes by, once for all of them.
	Visits, Relinks uint64

	Refused uint64 // timers that were not set, as the wheel had as many as its limit

	// Removed counts the timers that were removed before they fired, by the program or because
	// the wheel was drained. A timer replaced by another of its key does not count.
	Removed uint64

	Fired  uint64 // callbacks begun
	Panics uint64 // callbacks that panicked or called runtime.Goexit
}
