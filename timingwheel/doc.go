// Package timingwheel keeps many timers: deadlines of connections and requests,
// heartbeats, retries, periodic jobs, entries that expire. It rounds timers up to a
// tick. In return they are cheap to set, cheaper to move, and fire in batches.
//
//   - A [TimingWheel] has timers by key, with a value each, and one function that it
//     calls for all of them. It says whether a key had a timer, can be iterated
//     and restored, and can have a limit.
//   - [Timers] hands out timers as package time does, with Stop and Reset, for
//     functions, channels and sleepers. They fire once, repeat, or follow a schedule.
//   - A [Ring] is the wheel alone, for code with a lock and a clock of its own, such
//     as package cache of this module.
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
// # The ring
//
// A Ring is a circle of n slots, each with a list of tasks, and a cursor that
// passes one slot per tick. A task that is due s ticks from now, at most a
// revolution, is in slot (now + s) mod n, and is due when the cursor comes there.
// Later tasks are in an overflow level, a second circle whose slots are whole
// revolutions of the first. When a revolution begins, the tasks of its slot move
// into the first circle:
//
//	             cursor: tick 21 = slot 5 of 8
//	                |
//	circle    0  1  2  3  4  5  6  7
//	                         ^
//	          .  .  a  .  .  .  b  .
//
//	overflow  0  1  2  3  4  5  6  7       ticks 16 to 23 are revolution 2
//	                ^
//	          .  .  .  .  .  c  .  .       revolution 5: ticks 40 to 47
//
//	a, in slot 2, is visited in 5 ticks, at 26
//	b, in slot 6, is visited in 1 tick,  at 22
//	c, in slot 5 of the overflow level, is visited in 19 ticks, at 40
//
// Two more fields of a task say how long it has to wait after its next visit:
// circle, in revolutions, and diff, in ticks. They make a move lazy:
//
//	a: circle 0, diff 0    due at 26, when it is visited
//	b: circle 1, diff 3    due at 22 + 1·8 + 3 = 33
//	c: circle 0, diff 5    due at 40 + 5 = 45
//
// When b was moved to tick 33 it stayed in slot 6. The visit at tick 22 will find
// that 11 ticks are left, and only then link it into its new slot. One invariant
// holds for a task in a slot of either level that is visited dist ticks from now:
//
//	R:  due = now + dist + circle·n + diff,   0 <= diff < n
//
// A move to s ticks from now leaves the task in its slot if that is visited early
// enough, s >= dist; R then gives circle and diff. Only a move to an earlier tick
// takes the task out of its list and links it into another. So a timer that is
// refreshed again and again is visited once per timeout, however often it is
// refreshed. One with a long delay is visited twice, and once more for every n·n
// ticks of the delay: seven days of seconds on 256 slots take eleven visits, where more levels would
// take three or four. A visit takes some 30 ns.
//
// A removal sets a flag: the task stays in its list as a tombstone until the
// cursor passes. A tombstone holds nothing but the task's number, and a new task of
// that number takes it over and is moved from there. So there are never more list
// members than task numbers.
//
// A bit for each slot says whether it has tasks. So the ring skips empty slots,
// catches up at once after a long time without an advance, and knows when its next
// visit is.
//
// # Around the ring
//
// TimingWheel and Timers are divided into shards, each a ring and an array of
// timers under a mutex. A timer of the runtime is set for the next visit in any
// shard. Between visits there is neither a goroutine nor a wake-up, except one that
// was set for a timer since removed. The runtime's timer advances the rings to the
// tick of the clock, however late it is, with a bounded number of tasks per hold of
// a lock. Timers that are due go to a list in the ring, from which workers take them
// one by one. A worker takes a timer immediately before it calls the callback; until
// then the timer can be removed and moved. Callbacks that block delay the callbacks
// that are due after them, but never the ticks.
//
// # go-zero's words
//
//	go-zero                    here
//	timingEntry.circle, diff   task.circle and task.diff, as of the task's next visit (ring.go)
//	timingEntry.removed        task.diff is tombstone
//	positionEntry, timers      the number of the task, in an index by key or in the Timer
//	moveTask                   Ring.moveTask; its lazy part is postpone
//	scanAndRunTasks            Ring.Advance, and Ring.visit for each task
//	TaskRunner                 internal/runner: a Pool for callbacks here, a Runner for OnRemove
//	keyLru                     internal/eviction.Order; lru.Order
//	barrier (singleflight)     loads (cache/load.go, cache/join.go)
//	cacheStat                  package stats; its line in the log is that of gozero.LogStats
//
// Package cache uses a Ring by [Ring.AdvanceAll]: there the deadline of an entry decides, which a
// Set or Touch to a later time changes without a word to the ring. That is lazier than
// moveTask: circle and diff decide only in TimingWheel and Timers.
//
// [TimingWheel.Stats] and [Timers.Stats] count moves, visits and relinks.
//
// # Sources
//
// The circle of slots is scheme 6, and the levels are scheme 7, of Varghese and
// Lauck, "Hashed and Hierarchical Timing Wheels" (1987). circle and diff, with
// the deferred move and the removed flag, come from the TimingWheel of go-zero.
// This package differs from go-zero's in these points:
//
//   - go-zero compares slot numbers to decide whether a task can stay. That is
//     right only while the cursor is at the last slot; elsewhere a moved task can
//     fire a whole revolution late or early. Distances from the cursor are always
//     right.
//   - go-zero visits a task in every revolution that it waits, and counts circle
//     down; here the task waits in the overflow level.
//   - Tasks here are numbers in one array instead of list elements, map entries
//     and structs: setting one allocates nothing, and removing one frees its number
//     at once.
//   - The clock counts the ticks here. After a stall no tick is skipped, and a delay
//     is counted from the call, not from the last tick.
package timingwheel
