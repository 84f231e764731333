package pairs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const (
	keys      = 6    // of the actors. They are few, so that the actors meet
	crowdKeys = 1000 // those of a crowd, and most of a soak, from this one on
	deepest   = 3    // how many functions of the user may be within each other
	ms        = time.Millisecond
)

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
		place = rand.NewPCG(place, step).Uint64()
	}
	return diceFor(place)
}

// chance is true in percent of all cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// one returns one of several values.
func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// duration draws one of a few, so that actors often wake up at the same moment.
func (d dice) duration() time.Duration {
	return one[time.Duration](d, 0, 1, 3, 5, 10, 20, 30, 60, 100, 250) * ms
}

// A value says where it is from. No two values have the same id.
type value struct {
	id    uint64 // the place where it was made; 0 only in the zero value
	key   int
	depth int // of the actor who made it
	above int // likewise
}

// errBurst is what actors panic with.
var errBurst = errors.New("the actor panics")

// An actor is a goroutine of the program, or a call of a function of the user.
type actor struct {
	*round
	dice
	kind  string          // such as "OnRemove"
	ctx   context.Context // the one that it got, or that its caller has
	loads int             // the greatest key that the fetch loads whose context ctx is; -1 without one
	depth int
	above int // a load of a key up to this one may be waiting for the actor; -1: none
}

// enter begins a call of a function of the user; leave must follow. above is as in actor.
func (r *round) enter(kind string, depth, above int, place dice) *actor {
	r.ledger.active.Add(1)
	r.ledger.begun.Add(1)
	return &actor{round: r, dice: place, kind: kind, ctx: context.Background(), loads: -1, depth: depth, above: above}
}

func (a *actor) leave() { a.ledger.active.Add(-1) }

// perform calls some methods, rests in some of 100 cases, and may panic or call Goexit.
func (a *actor) perform(rests int) {
	if a.over.Load() {
		return
	}
	for n := range one(a.dice, 0, 1, 1, 2) {
		if a.depth <= deepest && a.cast[a.kind] {
			a.call(a.at('c', uint64(n)))
		}
	}
	if a.chance(rests) {
		a.rest()
	}
	if a.bursts && a.chance(8) {
		runtime.Goexit()
	}
	if a.bursts && a.chance(8) {
		panic(errBurst)
	}
}

// rest lets some time pass, in most cases until the context ends at the latest.
func (a *actor) rest() {
	if a.soak && a.chance(95) { // in real time other actors shall have more to do
		return
	}
	ended := a.ctx.Done()
	if a.chance(30) {
		ended = nil
	}
	select {
	case <-time.After(one(a.dice, a.duration(), a.duration(), a.duration(), a.options.Timeout+5*ms)):
	case <-ended:
		if a.ctx.Err() == nil || context.Cause(a.ctx) == nil {
			a.failf("%s: the context has ended with the error %v, the cause %v", a.kind, a.ctx.Err(), context.Cause(a.ctx))
		}
	}
}

// value returns a new value of a key.
func (a *actor) value(key int) value {
	return value{id: a.at('v', a.Uint64()).place | 1, key: key, depth: a.depth, above: a.above}
}

// right checks that a value is one of a key.
func (r *round) right(key int, v value) {
	if v.id == 0 || v.key != key {
		r.failf("the value of %d is %+v", key, v)
	}
}

// A call is a call of a method of the cache.
type call struct {
	*actor // who calls
	dice
	method string
	key    int
	refuse bool // the context is nil, so the cache must panic
	began  time.Time
	until  time.Time // when it must have returned; zero: at any time
	tick   uint64    // of the ledger, when it began
	asked  atomic.Uint64
}

// call calls a method drawn from those of the round.
func (a *actor) call(d dice) {
	m := one(d, a.methods...)
	for a.soak && slices.Contains(whole, m.name) && d.IntN(1000) > 0 {
		m = one(d, a.methods...)
	}
	a.calls.Add(1)
	c := &call{actor: a, dice: d, method: m.name, key: a.key(d), began: time.Now(), tick: a.ledger.clock.Add(1)}
	if m.name == "Take" && c.toTake(c.key) != anyContext {
		return
	}
	if slices.Contains(fetchKinds, "fetch of "+m.name) {
		a.ledger.taking.Add(1)
		defer a.ledger.taking.Add(-1)
		a.ledger.unread.Store(0) // it may wait for that
	}
	a.meet(a.kind, m.name)
	a.tracef("%s %03x: %s of %d begins", a.kind, a.place&0xfff, m.name, c.key)
	defer func() { c.end(recover()) }()
	defer a.ledger.change(m.changes, c.key)()
	m.do(c)
}

// end checks how a call has ended. It panics on, in half of all cases, if p is the panic of
// an actor.
func (c *call) end(p any) {
	what := fmt.Sprintf("%s %03x: %s of %d ends (panic: %v)", c.kind, c.actor.place&0xfff, c.method, c.key, p)
	c.tracef("%s", what)
	if now := time.Now(); !c.until.IsZero() && now.After(c.until.Add(c.late)) {
		c.failf("%s, %v too late, after %v", what, now.Sub(c.until), now.Sub(c.began))
	}
	ours := p == errBurst
	text, _ := p.(string)
	refused := strings.Contains(text, "the context of "+c.method+" is nil")
	if refused != c.refuse || p != nil && !ours && !refused && !strings.Contains(text, "Compute changes its own key") {
		c.failf("%s; the context is nil: %t", what, c.refuse)
	}
	if ours && c.depth > 0 && c.chance(50) {
		panic(p)
	}
}

// function begins a call of a function of the user that c has got and that gets no context;
// leave must follow. above is that of c or greater.
func (c *call) function(kind string, above int, steps ...uint64) *actor {
	a := c.enter(kind, c.depth+1, max(above, c.above), c.dice.at(append(steps, 'f')...))
	a.ctx, a.loads = c.ctx, c.loads
	return a
}

// found checks what a method has found for the key of the call, if ok.
func (c *call) found(v value, ok bool) {
	if ok {
		c.right(c.key, v)
	}
}

// --- contexts, and what the documents forbid, as it would wait for itself without end

// A demand is what a context must be, so that a call with it ends. Each is stricter than the
// one before.
type demand uint8

const (
	anyContext    demand = iota
	ownContext           // that of the fetch in which the call is made, or derived from it; or one that ends
	endingContext        // one that ends by itself
)

// toTake returns what the context of a Take must be.
//
// A fetch must not take its own key, unless with its own context, by which the cache can
// tell. Two must not take each other's: so those that wait for each other have ascending
// keys. With MaxLoads a fetch needs its own context for others, by which the cache can tell
// that it has a permit. A Timeout ends all waits.
func (c *call) toTake(wanted ...int) demand {
	least := slices.Min(wanted)
	switch {
	case c.options.Timeout > 0, least > c.above && c.mayWaitForPermits():
		return anyContext
	case c.loads >= 0 && least > c.above, c.loads == c.above && least == c.above:
		return ownContext
	}
	return endingContext
}

// mayWaitForPermits reports whether none of MaxLoads is freed only when the actor has ended.
// Weigh, ExpireBy, Negative and DelFunc are asked when a load has given its own back.
func (c *call) mayWaitForPermits() bool {
	return c.options.MaxLoads == 0 || c.above < 0 || slices.Contains([]string{"Weigh", "ExpireBy", "Negative", "DelFunc"}, c.kind) &&
		!slices.ContainsFunc(fetchKinds, func(kind string) bool { return c.cast[kind] })
}

// toWait returns what the context of Wait and SaveFile must be, which wait for what others do.
func (c *call) toWait() demand {
	if c.depth > 0 {
		return endingContext
	}
	return anyContext
}

// context draws a context that is as demanded, and calls do with it. The call must return when
// it ends.
func (c *call) context(want demand, do func(ctx context.Context)) {
	after := c.duration()
	derived, cancel := context.WithCancel(c.ctx)
	defer cancel()
	ended, cancel := context.WithCancel(c.ctx)
	cancel()
	other, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	// A timer ends it, as WithTimeout relies on the parent if that has an earlier deadline,
	// and the context of a fetch postpones its own when others join.
	limited, cancel := context.WithTimeout(c.ctx, after)
	defer cancel()
	defer time.AfterFunc(after, cancel).Stop()
	all := []struct {
		name string
		is   demand
		ctx  context.Context
	}{
		{"own", ownContext, c.ctx},
		{"derived", ownContext, derived},
		{"ended", endingContext, ended},
		{"of another request", endingContext, other},
		{"with a deadline", endingContext, limited},
		{"that asks the cache", endingContext, asking{limited, c}},
		{"nil", endingContext, nil},
		{"Background", anyContext, context.Background()},
	}
	kind := one(c.dice, all...)
	for kind.is < want {
		kind = one(c.dice, all...)
	}
	c.tracef("with a context %s", kind.name)
	c.refuse = kind.ctx == nil
	if kind.is == endingContext {
		c.until = c.began.Add(after)
	}
	do(kind.ctx)
}

// An asking context asks the cache for an entry whenever it is asked for anything.
type asking struct {
	context.Context
	call *call
}

func (a asking) ask() {
	a.call.cache.Peek(a.call.key)
	a.call.cache.Compute(a.call.key, func(old value, _ bool) (value, cache.Op) { return old, cache.OpKeep })
}

func (a asking) Deadline() (time.Time, bool) { a.ask(); return a.Context.Deadline() }
func (a asking) Done() <-chan struct{}       { a.ask(); return a.Context.Done() }
func (a asking) Err() error                  { a.ask(); return a.Context.Err() }
func (a asking) Value(key any) any           { a.ask(); return a.Context.Value(key) }
