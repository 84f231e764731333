// Package ring is a timing wheel without a lock and without a clock: the part that a cache,
// a set of timers or a simulation can be built on. Packages cache and timingwheel of this
// module are.
//
// A [Ring] says which of a set of tasks are due at a tick. The caller numbers the tasks and
// counts the ticks. It calls [Ring.Set] and [Ring.Remove] for a task, and [Ring.Advance] when
// time has passed.
//
// # The algorithm
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
// ticks of the delay. Seven days of seconds on 256 slots take eleven visits, where more
// levels would take three or four. A visit takes some 30 ns.
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
// # Deadlines that the caller keeps
//
// A caller that keeps the deadlines of tasks itself, as package cache does, calls
// [Ring.AdvanceAll]. It may make a deadline later without telling the ring. At the next
// visit of the task it looks at the deadline and answers how many ticks are left. Only a
// deadline before [Ring.Visit] needs a Set.
//
// # Sources
//
// The circle of slots is scheme 6, and the levels are scheme 7, of Varghese and Lauck,
// "Hashed and Hierarchical Timing Wheels" (1987). circle and diff, with the deferred move
// and the removed flag, come from the TimingWheel of go-zero.
package ring
