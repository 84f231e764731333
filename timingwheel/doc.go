// Package timingwheel is a timer library for many timers: deadlines of
// connections and requests, heartbeats, retries, periodic jobs, entries that
// expire. Timers are rounded up to a tick, and in return they are cheap to set,
// cheaper to move, and fire in batches.
//
//   - A [TimingWheel] has timers by key, with a value each, and one function to
//     call for all of them. It says whether a key had a timer, can be iterated
//     and restored, and can have a limit.
//   - [Timers] hands out timers as package time does, with Stop and Reset, for
//     functions, channels and sleepers, once, again and again, or by a schedule.
//   - A [Ring] is the wheel itself, for those who have a lock and a clock of their
//     own, as package cache of this module does.
//
// For a few hundred timers package time is enough: see docs/timers.md of this
// module.
//
// # Delays and arguments
//
// A delay of 0 or less, and a moment that has passed, mean the next tick. Only
// [TimingWheel.SetTimer] and [TimingWheel.MoveTimer] refuse such a delay, with
// [ErrArgument], as the methods of go-zero do whose names they have; by key,
// [TimingWheel.SetTimerAt] takes a moment. An interval must be positive.
//
// What cannot be meant is an error where there is one to return, and else a panic
// that says what was wrong: a nil function, for one. A nil [Option] is skipped.
//
// # The ring
//
// A Ring is a circle of n slots, each with a list of tasks, and a cursor that
// passes one slot per tick. A task that is due s ticks from now, at most a
// revolution, hangs in slot (now + s) mod n. When the cursor comes there, it is
// due. Later ones hang in an overflow level, a second circle whose slots are
// whole revolutions of the first; when a revolution begins, its slot is emptied
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
// circle, in revolutions, and diff, in ticks. They are what makes a move lazy:
//
//	a: circle 0, diff 0    due at 26, when it is visited
//	b: circle 1, diff 3    due at 22 + 1·8 + 3 = 33
//	c: circle 0, diff 5    due at 40 + 5 = 45
//
// When b was moved to tick 33 it stayed in slot 6. The visit at tick 22 will find
// that 11 ticks are left, and only then hang it where it belongs. All of this
// rests on one equation, for a task in a slot of either level that is visited
// dist ticks from now:
//
//	R:  due = now + dist + circle·n + diff,   0 <= diff < n
//
// A move to s ticks from now can leave the task in its slot whenever that is
// visited early enough, s >= dist; then R gives circle and diff. Only a task that
// is wanted earlier than that is taken out of its list and hung into another. So
// a timer that is refreshed again and again is visited once in each of its
// timeouts, however often that happens, and one with a long delay is visited
// twice, and once more for every n·n ticks of it.
//
// A removal sets a flag: the task stays in its list as a tombstone until the
// cursor passes, holding nothing but its number, and a new task of the same
// number takes the tombstone over and is moved from there. So there are never
// more list members than task numbers.
//
// A bit for each slot says whether it has tasks, so empty ones are skipped, a
// wheel that was not advanced for a long time catches up at once, and it is known
// when the next visit is to be.
//
// # Around the ring
//
// TimingWheel and Timers are divided into shards, each a ring and an array of
// timers under a mutex. A timer of the runtime is set for the next visit in any of
// them: between visits there is neither a goroutine nor a wake-up, nor while no
// timer waits, but for one that was set for a timer since removed. It advances the
// rings to the tick of the clock, however late it is, a bounded number of tasks
// under a lock. What is due goes to a list in the ring, from
// which workers take it one by one. Only when a worker takes it, immediately
// before the call, is a timer gone; until then it can be removed and moved.
// Callbacks that block hold up what is due after them, but never the ticks.
//
// # Sources
//
// The circle of slots is scheme 6, and the levels are scheme 7, of Varghese and
// Lauck, "Hashed and Hierarchical Timing Wheels" (1987). circle and diff, with
// the deferred move and the removed flag, come from the TimingWheel of go-zero.
// It differs in these points:
//
//   - go-zero decides whether a task can stay by comparing slot numbers. That is
//     right only while the cursor stands at the last slot; elsewhere a moved
//     task can fire a whole revolution late or early. Distances from the cursor
//     have no such case.
//   - There a task is visited in every revolution that it waits, and circle counts
//     them down; here it waits in the overflow level.
//   - Tasks here are numbers in one array instead of list elements, map entries
//     and structs: setting one allocates nothing, and removing one gives its
//     number back at once.
//   - Ticks are counted by the clock. After a stall no tick is skipped, and a
//     delay is counted from the call, not from the last tick.
package timingwheel
