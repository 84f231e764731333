//go:build !unix

package main

import "math"

func usage() (cpu, wakes float64) { return math.NaN(), math.NaN() } // not known
