package pairs

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

type op = cache.Op

const keep = cache.OpKeep

// kinds are the actors beside the program: the functions of the user.
var kinds = append([]string{
	"OnRemove", "OnRemoveSync", "Weigh", "Negative", "OnPanic", "Amend",
	"Compute", "DelFunc", "Save", "Restore", "All",
}, fetchKinds...)

// --- the functions of the options

func (r *round) onRemove(e cache.Event[int, value]) {
	if e.Key >= crowdKeys && e.Key%1000 != 0 { // most of a crowd do nothing
		return
	}
	a := r.enter("OnRemove", context.Background(), e.Value.depth+1, -1, r.dice.at('r', e.Value.id))
	defer a.leave()
	if wrong := a.ledger.tell(e); wrong != "" {
		a.failf("%s: %+v: %s", a, e, wrong)
	}
	a.right(e.Key, e.Value)
	returned := false
	defer func() {
		if !returned {
			a.ledger.burst()
		}
	}()
	a.act()
	if a.crowded || a.chance(20) {
		a.rest()
	}
	a.burst()
	returned = true
}

// onRemoveSync may be called by a load of any key, and by what a fetch calls.
func (r *round) onRemoveSync(e cache.Event[int, value]) {
	if e.Key >= crowdKeys {
		return
	}
	a := r.enter("OnRemoveSync", context.Background(), e.Value.depth+1, keys, r.dice.at('y', e.Value.id))
	defer a.leave()
	if wrong := a.ledger.tellSync(e); wrong != "" {
		a.failf("%s: %+v: %s", a, e, wrong)
	}
	a.right(e.Key, e.Value)
	returned := false
	defer func() {
		if !returned {
			a.ledger.burst()
		}
	}()
	a.act()
	if a.chance(20) {
		a.rest()
	}
	a.burst()
	returned = true
}

// right checks that a value is one of a key.
func (a *actor) right(key int, v value) {
	if v.id == 0 || v.key != key {
		a.failf("%s: the value of %d is %+v", a, key, v)
	}
}

func (r *round) weigh(key int, v value) uint32 {
	if key >= crowdKeys {
		return 0
	}
	a := r.enter("Weigh", context.Background(), v.depth+1, v.above, r.dice.at('w', v.id))
	defer a.leave()
	a.right(key, v)
	weight := uint32(a.IntN(7))
	a.act()
	a.burst()
	return weight
}

func (r *round) negative(err error) time.Duration {
	var f *failure
	if !errors.As(err, &f) {
		return 0
	}
	a := r.enter("Negative", context.Background(), f.depth+1, f.above, r.dice.at('n', f.id))
	defer a.leave()
	a.act()
	a.burst()
	return one(a.dice, -1, 0, 20*ms, time.Hour)
}

func (r *round) onPanic(p any, stack []byte) {
	text, _ := p.(error)
	if text == nil || !strings.Contains(text.Error(), "outburst") && !strings.Contains(text.Error(), "Goexit") {
		r.failf("OnPanic gets %v\n%s", p, stack)
	}
	a := r.enter("OnPanic", context.Background(), deepest, keys, r.dice.at('o', r.panics.Add(1)))
	defer a.leave()
	a.act()
	a.burst()
}

func (r *round) amend(*stats.Snapshot) {
	if r.checking.Load() {
		return
	}
	a := r.enter("Amend", context.Background(), deepest, keys, r.dice.at('a', r.amends.Add(1)))
	defer a.leave()
	a.act()
}

// --- the functions of the methods

// compute is a function of Compute. It acts once: otherwise it could be called for ever.
func (c *call) compute(old value, found bool) (value, op) {
	n := c.asked.Add(1)
	a := c.function("Compute", nil, c.above, n)
	defer a.leave()
	c.found(old, found)
	if n == 1 {
		a.act()
		if a.chance(20) {
			a.rest()
		}
		a.burst()
	}
	return a.value(c.key), one(a.dice, cache.OpKeep, cache.OpSet, cache.OpSet, cache.OpDelete)
}

// del is a function of DelFunc. A load may call it, and may wait for it.
func (c *call) del(key int, v value) bool {
	a := c.function("DelFunc", nil, max(key, v.above), v.id)
	defer a.leave()
	a.loads = -1 // it may be called after the fetch has ended, when the cache cannot tell
	a.right(key, v)
	a.act()
	if a.chance(20) {
		a.rest()
	}
	a.burst()
	return a.chance(40)
}

func (c *call) encode(dst []byte, key int, v value) ([]byte, error) {
	if key >= crowdKeys {
		return v.encoded(dst), nil
	}
	a := c.function("Save", nil, c.above, v.id)
	defer a.leave()
	defer func() {
		if now := time.Now(); !c.until.IsZero() && now.After(c.until) {
			c.until = now // SaveFile looks at its context before each call
		}
	}()
	a.right(key, v)
	a.act()
	if a.chance(10) {
		a.rest()
	}
	a.burst()
	if a.chance(5) {
		return dst, errBad
	}
	return v.encoded(dst), nil
}

func (c *call) decode(b []byte) (int, value, error) {
	a := c.function("Restore", nil, c.above, c.asked.Add(1))
	defer a.leave()
	key := keyIn(b)
	a.act()
	if a.chance(10) {
		a.rest()
	}
	a.burst()
	if a.chance(5) {
		return 0, value{}, errBad
	}
	v := a.value(key)
	a.ledger.restore(v)
	return key, v, nil
}

// yield is the body of a loop over all entries.
func (c *call) yield(key int, v value) bool {
	a := c.function("All", nil, c.above, v.id)
	defer a.leave()
	a.right(key, v)
	a.act()
	if a.chance(10) {
		a.rest()
	}
	a.burst()
	runtime.Gosched()
	return a.chance(90)
}
