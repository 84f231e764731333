// Package timers holds the benchmarks of package timingwheel: the cost of starting,
// stopping, resetting and moving timers, beside package time, go-zero's wheel and a heap
// under a mutex; the memory of a pending timer; and the processor time and lateness of a
// million that fire in a second.
//
//	cd bench && go test ./timers -run '^$' -bench . -count 6 | benchstat -
//
// With -short there are a thousand timers, and the figures mean nothing.
//
// All contenders of a benchmark run in one process, one after another and again
// for every count: compare them within a run, not between machines.
package timers
