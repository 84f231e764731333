// Package bench holds the benchmarks behind the figures in the README.
//
// Of the cache: what a refresh, an eviction and an entry cost, beside go-zero's
// collection.Cache, and how long a Set waits while a million entries expire at
// once. Of the timers: what starting, stopping, resetting and moving costs, beside
// package time, go-zero's wheel and a heap under a mutex, what a pending timer
// takes, and the processor time and lateness of a million that fire in a second.
//
//	go test ./bench -run '^$' -bench . -count 6 | benchstat -
//
// All contenders of a benchmark run in one process, one after another and again
// for every count: compare them within a run, not between machines.
package bench
