// Package timingwheel keeps many timers: deadlines of connections and requests,
// heartbeats, retries, periodic jobs, entries that expire. It rounds timers up to a
// tick. In return they are cheap to set, cheaper to move, and fire in batches.
//
//   - A [TimingWheel] has timers by key, with a value each, and one function that it
//     calls for all of them. It says whether a key had a timer, can be iterated
//     and restored, and can have a limit.
//   - [Timers] hands out timers as package time does, with Stop and Reset, for
//     functions, channels and sleepers. They fire once, repeat, or follow a schedule.
//   - The wheel alone is in [github.com/pinwheel-cache/pinwheel/timingwheel/ring], for code
//     with a lock and a clock of its own, such as package cache of this module.
//
// For fewer than ten thousand timers package time is enough: see docs/timers.md of
// this module.
//
// # Delays and arguments
//
// A delay of 0 or less, and a moment that has passed, mean the next tick. Only
// [TimingWheel.SetTimer] and [TimingWheel.MoveTimer] refuse such a delay with
// [ErrArgument], as go-zero's methods of the same names do;
// [TimingWheel.SetTimerAt] takes any moment. An interval must be positive.
//
// A wrong argument, such as a nil function, gives an error where the function
// returns one, and otherwise a panic that says what was wrong. A nil [Option] is
// skipped.
//
// # Bubbles of testing/synctest
//
// Use a wheel from a bubble only in that bubble, and a wheel from outside only outside.
// Otherwise every method panics, once it has checked its arguments and before it changes
// anything. Some work everywhere: Len, Stats, [TimingWheel.RemoveTimer], [Timer.Stop] of a
// timer without a channel, and [Timers.WithTimeout], which does not use the wheel. Use in a
// second bubble is not detected.
//
// # How it works
//
// TimingWheel and Timers are divided into shards, each an array of timers and a
// [ring.Ring] under a mutex; package ring describes the algorithm. A timer of the runtime
// is set for the next visit in any shard. Between visits there is neither a goroutine nor a
// wake-up, except one that was set for a timer since removed. The runtime's timer advances
// the rings to the tick of the clock, however late it is, with a bounded number of tasks per
// hold of a lock. Timers that are due go to a list in the ring, from which workers take them
// one by one. A worker takes a timer immediately before it calls the callback. Until then
// the timer can be removed and moved. Callbacks that block delay the callbacks that are due
// after them, but never the ticks.
//
// # go-zero's words
//
//	go-zero                    here
//	timingEntry.circle, diff   task.circle and task.diff, as of the task's next visit (ring/ring.go)
//	timingEntry.removed        task.diff is tombstone
//	positionEntry, timers      the number of the task, in an index by key or in the Timer
//	moveTask                   Ring.moveTask; its lazy part is postpone
//	scanAndRunTasks            Ring.Advance, and Ring.visit for each task
//	TaskRunner                 internal/runner: a Pool for callbacks here, a Runner for OnRemove
//	keyLru                     internal/eviction.Order; lru.Order
//	barrier (singleflight)     loads (cache/join.go, cache/run.go)
//	cacheStat                  package stats; its line in the log is that of gozero.LogStats
//
// circle, diff, the deferred move and the removed flag come from the TimingWheel of go-zero.
// This package differs from it in these points:
//
//   - go-zero compares slot numbers to decide whether a task can stay in its slot. That is
//     right only while the cursor is at the last slot. Elsewhere a moved task can fire a
//     whole revolution late or early. Distances from the cursor are always right.
//   - go-zero visits a task in every revolution that it waits, and counts circle down. Here
//     the task waits in the overflow level.
//   - Tasks here are numbers in one array instead of list elements, map entries and structs.
//     Setting one allocates nothing, and removing one frees its number at once.
//   - The clock counts the ticks here. After a stall no tick is skipped, and a delay is
//     counted from the call, not from the last tick.
//
// [TimingWheel.Stats] and [Timers.Stats] count moves, visits and relinks.
package timingwheel
