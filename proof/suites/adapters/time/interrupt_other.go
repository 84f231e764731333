//go:build !unix

package time

// Interrupt does nothing: there are no such signals.
func Interrupt() {}
