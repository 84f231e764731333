//go:build race

package timingwheel

const tmRaceEnabled = true
