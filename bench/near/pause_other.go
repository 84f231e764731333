//go:build !linux

package main

import "time"

// pause gives up the processor for a moment.
func pause() { time.Sleep(10 * time.Microsecond) }
