//go:build unix

package main

import "syscall"

// usage returns the seconds of processor time and the wake-ups of this process so far.
func usage() (cpu, wakes float64) {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, float64(u.Nvcsw)
}
