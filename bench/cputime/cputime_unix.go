//go:build unix

// Package cputime tells how much processor time the process has used.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time of the process so far, user and system.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
