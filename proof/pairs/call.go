package pairs

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
)

// A call is a call of a method of the cache.
type call struct {
	*actor // who calls
	dice
	method string
	key    int
	ctx    context.Context // nil without one, or on purpose
	began  time.Time
	until  time.Time // when it must have returned; zero: at any time
	tick   uint64    // of the ledger, when it began
	asked  atomic.Uint64
	result string // for the trace
}

// call calls a method drawn from those of the round.
func (a *actor) call(d dice) {
	m := one(d, a.methods...)
	c := &call{actor: a, dice: d, method: m.name, key: d.IntN(a.keys), began: time.Now()}
	if !c.allowed() {
		return
	}
	a.met.add(a.kind, m.name)
	c.tick = a.ledger.tick()
	c.result = "ends its goroutine"
	defer func() { c.end(recover()) }()
	m.do(c)
	c.result = "returns"
}

// end checks how a call has ended. It panics on, in half of all cases, if p is the panic of
// an actor.
func (c *call) end(p any) {
	if late := time.Since(c.until); !c.until.IsZero() && late > 0 {
		c.failf("%s: %s of %d returns %v too late, after %v", c.actor, c.method, c.key, late, time.Since(c.began))
	}
	c.progress.Add(1)
	if p == nil {
		c.tracef("%s: %s of %d %s", c.actor, c.method, c.key, c.result)
		return
	}
	c.tracef("%s: %s of %d panics: %v", c.actor, c.method, c.key, p)
	_, ours := p.(*outburst)
	if !ours && !c.mayPanic(p) {
		c.failf("%s: %s of %d panics: %v", c.actor, c.method, c.key, p)
	}
	if ours && c.depth > 0 && c.chance(50) {
		panic(p)
	}
}

// mayPanic reports whether a method may panic by itself.
func (c *call) mayPanic(p any) bool {
	if text, ok := p.(string); ok && strings.Contains(text, "Compute changes its own key") {
		return true
	}
	return c.ctx == nil
}

// function begins a call of a function of the user that c has got; leave must follow. ctx is
// nil if the function gets none; above is that of c or greater.
func (c *call) function(kind string, ctx context.Context, above int, steps ...uint64) *actor {
	permit, loads := false, -1 // of a fetch: see there
	if ctx == nil {
		ctx, permit, loads = c.actor.ctx, c.permit, c.loads
	}
	a := c.enter(kind, ctx, c.depth+1, max(above, c.above), c.dice.at(append(steps, 'f')...))
	a.permit, a.loads = permit, loads
	return a
}

// atOnce says that no time may pass until c returns.
func (c *call) atOnce() { c.until = c.began }

// removesAtOnce is atOnce for a method that may wait for OnRemove, if that is far behind, and for
// calls of OnRemoveSync.
func (c *call) removesAtOnce() {
	if !c.crowded && c.options.OnRemoveSync == nil {
		c.atOnce()
	}
}

// storesAtOnce is removesAtOnce for a method that may call Weigh.
func (c *call) storesAtOnce() {
	if c.options.Weigh == nil {
		c.removesAtOnce()
	}
}

// right checks a value that the cache returns for a key.
func (c *call) right(key int, v value) {
	if v.id == 0 || v.key != key {
		c.failf("%s: %s of %d finds %+v", c.actor, c.method, key, v)
	}
}

// found is right for a value that is there if ok.
func (c *call) found(v value, ok bool) {
	if ok {
		c.right(c.key, v)
	} else if v.id != 0 {
		c.failf("%s: %s of %d finds nothing, but returns %+v", c.actor, c.method, c.key, v)
	}
}
