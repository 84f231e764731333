// Soak runs a mixed load on many caches for any length of time, and watches what shows only over
// time or from outside: memory, goroutines, counters, limits, and caches that are dropped. What
// each answer must be is checked by package lincheck.
//
//	go run -C proof -race ./soak -for 20m
//
// It prints the first broken promise, and ends with status 1. SIGINT ends it early, with the
// summary. -ops ends it after that many operations, if that is sooner; -phase is the length of a
// phase, and -seed the seed of the load. In 27 minutes with 181 million operations on two
// processors nothing was found, and the heap with all caches empty stayed at 33 to 35 MB.
//
// # Load
//
// Ten caches at once: small, large, resized, never reached and no limits, weights, Idle
// alone and with a TTL, Jitter, HotKeys with Ages and WhatIf; keys that are numbers,
// strings and structs; values that are numbers and pointers; an OnRemove that is quick,
// slow, panics, calls runtime.Goexit or uses the cache. Timing wheels have tests of this kind
// in package timingwheel: TestKeyedStress, TestTimersLedger, TestTimersNeverEarly.
//
// The phases are read-mostly, write-heavy, refresh-storm (Touch), mass-expiry, resize,
// clear, scan (All), stampede (Take with loads that fail, panic, exit, are slow or lose
// their callers), pauses, short-lived (caches and wheels that are made, used, closed or
// dropped), and everything. The number of goroutines changes all the time. A
// quarter of the operations use eight keys of each cache. stats.Handler is asked for JSON,
// metrics and the page throughout.
//
// # Checks
//
// With every answer:
//
//   - A value is of its key. An error of Take is that of a fetch or of a context.
//   - Entries and weight stay within the limit, also during Resize.
//   - At most Workers calls of OnRemove run at once.
//   - The counters of stats.Handler never fall, and their sums are right.
//
// After every phase, at rest:
//
//   - Hits, misses, loads, panics and removals by cause match what was done and reported.
//   - No goroutine is left. Every dropped cache and wheel has been collected and has left
//     package stats.
//   - After every second phase all caches are emptied and the memory in use is noted. It
//     must stay near the first value. The line through all of these, without the first
//     quarter, must not rise by more than 1 MB plus 2 % with a slope of more than four
//     standard errors.
//
// What must happen eventually has a minute, as the machine may be busy.
package main
