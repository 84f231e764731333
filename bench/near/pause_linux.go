package main

import "syscall"

// pause gives up the processor for some 60 µs. A short time.Sleep would take a
// millisecond in a program that has nothing else to do.
func pause() {
	syscall.Nanosleep(&syscall.Timespec{Nsec: 10_000}, nil) // an early end only looks sooner
}
