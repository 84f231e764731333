package pairs

import (
	"math/rand/v2"
	"time"
)

const ms = time.Millisecond

// A dice draws what happens at one place of a round. It belongs to one goroutine.
type dice struct {
	place uint64 // the seed, and the way from the beginning of the round to here
	*rand.Rand
}

func diceFor(place uint64) dice { return dice{place, rand.New(rand.NewPCG(place, 1))} }

// at returns the dice of a place within that of d.
func (d dice) at(steps ...uint64) dice {
	place := d.place
	for _, step := range steps {
		place = mixed(place ^ mixed(step+1))
	}
	return diceFor(place)
}

// mixed is the finalizer of SplitMix64: each bit of n changes half of the bits of the result.
func mixed(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// chance is true in percent of all cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// one returns one of several values.
func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }
