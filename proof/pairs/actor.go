package pairs

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// deepest is how many functions of the user may be within each other.
const deepest = 3

// An actor is a goroutine of the program, or a call of a function of the user.
type actor struct {
	*round
	dice
	kind   string          // such as "OnRemove"
	ctx    context.Context // the one that it got, or that its caller has
	permit bool            // ctx is that of a fetch, or derived from it
	loads  int             // the greatest key that this fetch loads; -1: there is none
	depth  int
	above  int // a load of a key up to this one may be waiting for the actor; -1: none
}

// program returns a goroutine of the program.
func (r *round) program(number int) *actor {
	return &actor{round: r, dice: r.dice.at('p', uint64(number)), kind: "the program", ctx: context.Background(), loads: -1, above: -1}
}

// enter begins a call of a function of the user; leave must follow. above is as in actor.
func (r *round) enter(kind string, ctx context.Context, depth, above int, place dice) *actor {
	place = place.at(r.ledger.entered(place.place)) // some are called again for the same value
	a := &actor{round: r, dice: place, kind: kind, ctx: ctx, loads: -1, depth: depth, above: above}
	r.tracef("%s begins", a)
	return a
}

func (a *actor) leave() {
	a.tracef("%s ends", a)
	a.ledger.left()
}

// String names the actor, such as "OnRemove 1f3".
func (a *actor) String() string { return fmt.Sprintf("%s %03x", a.kind, a.place&0xfff) }

// inLoad reports whether a load may be waiting for the actor.
func (a *actor) inLoad() bool { return a.above >= 0 }

// act calls some methods.
func (a *actor) act() {
	if a.depth > deepest || !a.cast[a.kind] || a.checking.Load() {
		return
	}
	for n := range one(a.dice, 0, 1, 1, 2) {
		a.call(a.at('c', uint64(n)))
	}
}

// burst ends the actor with a panic or Goexit, in some cases.
func (a *actor) burst() {
	if !a.bursts || !a.chance(15) || a.checking.Load() || slices.Contains(a.without, a.kind) {
		return
	}
	if a.chance(50) {
		a.tracef("%s calls Goexit", a)
		runtime.Goexit()
	}
	a.tracef("%s panics", a)
	panic(&outburst{a.kind})
}

// rest lets some time pass.
func (a *actor) rest() { time.Sleep(a.duration()) }

// value returns a new value of a key.
func (a *actor) value(key int) value {
	return value{id: a.at('v', a.Uint64()).place | 1, key: key, depth: a.depth, above: a.above}
}
