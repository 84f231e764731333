//go:build !race

package timingwheel

const tmRaceEnabled = false
