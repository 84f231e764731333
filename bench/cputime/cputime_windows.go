// Package cputime tells how much processor time the process has used.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time of the process so far, user and system.
func Used() time.Duration {
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(err)
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(process, &created, &exited, &kernel, &user); err != nil {
		panic(err)
	}
	return duration(kernel) + duration(user)
}

// duration returns what a Filetime counts: 100 ns each.
func duration(f syscall.Filetime) time.Duration {
	return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
}
