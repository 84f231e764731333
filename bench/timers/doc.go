// Package timers holds the benchmarks of package timingwheel, beside package time, go-zero's
// wheel, RussellLuo/timingwheel (Kafka's wheel in Go) and antlabs/timer:
//
//   - StartStop, Resets: starting and stopping timers beside many others, and resetting (by
//     handle) or moving (by key) those to the same tick, later, earlier, by turns, at random
//   - Ring: the same resets of a Ring alone, lazy as they are, and eager: unlinked and linked
//   - Heartbeats: many time-outs of such a Ring, with the visits that laziness puts off
//   - Memory, Idle, Fire: the bytes of a pending timer, the wake-ups while a million wait (Linux),
//     and the processor time and lateness of a million that fire in a second
//
// To run them:
//
//	cd bench && go test ./timers -run '^$' -bench . -count 6 | benchstat -
//
// With -short there are a thousand timers, and the figures mean nothing.
//
// All contenders of a benchmark run in one process, one after another and again
// for every count: compare them within a run, not between machines.
package timers
