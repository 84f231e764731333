// Package timingwheel implements a hashed timing wheel whose timers are cheap
// to move: a refresh writes two small fields, and the wheel repairs its lists
// when it comes by anyway.
//
// # The ring
//
// A [Ring] is a circle of n slots, each with a list of tasks, and a cursor that
// passes one slot per tick. A task that is due s ticks from now hangs in slot
// (now + s) mod n; one that is due more than a revolution ahead has in circle
// the number of revolutions to let pass:
//
//	            cursor: tick 21 = slot 5 of 8
//	               |
//	slot  0  1  2  3  4  5  6  7
//	                     ^
//	      .  .  a  .  .  .  b  .
//
//	a, in slot 2, is visited in 5 ticks: dist(2) = 5
//	b, in slot 6, is visited in 1 tick:  dist(6) = 1
//
//	a: circle 0, diff 0    due at 21 + 5 + 0·8 + 0 = 26
//	b: circle 2, diff 3    due at 21 + 1 + 2·8 + 3 = 41
//
// The third field, diff, is what makes a move lazy. When b was moved to tick 41
// it stayed in slot 6, although 41 belongs into slot 1. The cursor will visit b
// at ticks 22, 30 and 38; the first two visits use up circle, and the third
// finds diff ticks left and only now hangs b into slot (38 + 3) mod 8 = 1.
//
// All of it rests on one equation, for a task in slot p:
//
//	R:  due = now + dist(p) + circle·n + diff,   0 <= diff < n
//	    dist(p) = ((p - now - 1) mod n) + 1
//
// A move to s ticks from now can leave the task in its slot whenever the slot is
// visited early enough, s >= dist(p); then R gives circle and diff. Only a task
// that is wanted earlier than that is taken out of its list and hung into
// another. A removal sets a flag: the task stays in its list as a tombstone
// until the cursor passes, holding nothing but its number, and a new task of
// the same number takes the tombstone over and is moved from there. So there
// are never more list members than task numbers.
//
// # Sources
//
// The circle of slots with a count of revolutions is scheme 6 of Varghese and
// Lauck, "Hashed and Hierarchical Timing Wheels" (1987). circle and diff, with
// the deferred move and the removed flag, come from the TimingWheel of go-zero.
// It differs in these points:
//
//   - go-zero decides whether a task can stay by comparing slot numbers. That is
//     right only while the cursor stands at the last slot; elsewhere a moved
//     task can fire a whole revolution late or early. Distances from the cursor
//     have no such case.
//   - Tasks here are numbers in one array instead of list elements, map entries
//     and structs: setting one allocates nothing, and removing one gives its
//     number back at once.
//   - Ticks are counted by the caller's clock. After a stall Advance works
//     through every tick that was missed, a bounded number of tasks per call.
package timingwheel
