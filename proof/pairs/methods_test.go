package pairs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A method is a method of the cache.
type method struct {
	name    string
	changes scope
	do      func(c *call)
}

// A scope is which keys a method may change.
type scope uint8

const (
	nothing scope = iota
	itsKey
	allKeys
)

// takes is how many methods are Takes, the first ones.
const takes = 8

// whole are the methods that a soak calls rarely: they take long, or leave little in the cache.
var whole = []string{"Clear", "DelFunc", "ExpireFunc", "ExpireAll", "Coldest", "Hottest", "Close", "Resize", "ResizeWeight", "Tune", "Save", "Restore", "SaveFile", "RestoreFile"}

// methods are all methods of a cache: TestEveryMethodIsAMethod.
var methods = []method{
	{"Take", nothing, func(c *call) {
		c.ledger.gets.Add(1)
		if c.options.Timeout > 0 {
			c.until = c.began.Add(2 * c.options.Timeout) // behind a load of others, and for a permit
		}
		c.took(c.cache.Take(c.key, func() (value, error) {
			c.until = time.Time{} // it runs here, and Take waits for it
			return c.fetchOne(context.Background(), nil)
		}))
	}},
	{"TakeCtx", nothing, func(c *call) {
		c.take(1, []int{c.key}, func(ctx context.Context) {
			c.took(c.cache.TakeCtx(ctx, c.key, func(ctx context.Context) (value, error) { return c.fetchOne(ctx, nil) }))
		})
	}},
	{"TakeWith", nothing, func(c *call) {
		c.take(1, []int{c.key}, func(ctx context.Context) { c.took(c.cache.TakeWith(ctx, c.key, c.fetchOne)) })
	}},
	{"Fetch", nothing, func(c *call) {
		c.take(1, []int{c.key}, func(ctx context.Context) { c.took(c.cache.Fetch(c.loadsBy(ctx), c.key)) })
	}},
	{"TakeEntry", itsKey, func(c *call) {
		terms := one(c.dice, cache.Terms{}, cache.Within(0), cache.Terms{NoOld: true}, cache.Terms{NoStore: true}, cache.Terms{Patience: -1}, cache.Terms{Patience: 3 * ms})
		if c.options.Ages && c.chance(30) {
			terms = cache.Within(5 * ms)
		}
		fetch := one(c.dice, c.fetchOne, nil)
		c.take(1, []int{c.key}, func(ctx context.Context) {
			e, err := c.cache.TakeEntry(c.loadsBy(ctx), c.key, terms, fetch)
			c.took(e.Value, err)
		})
	}},
	{"TakeMany", nothing, func(c *call) {
		wanted := c.Perm(c.keys)[:1+c.IntN(min(c.keys, 3))]
		c.take(len(wanted), wanted, func(ctx context.Context) {
			values, err := c.cache.TakeMany(ctx, wanted, func(ctx context.Context, missing []int) (map[int]value, error) {
				return c.fetch(ctx, nil, missing...)
			})
			for key, v := range values {
				c.right(key, v)
			}
			c.failed(err)
		})
	}},
	{"FetchMany", nothing, func(c *call) {
		wanted := c.Perm(c.keys)[:1+c.IntN(min(c.keys, 3))]
		c.take(len(wanted), wanted, func(ctx context.Context) {
			values, err := c.cache.FetchMany(c.loadsBy(ctx), wanted)
			for key, v := range values {
				c.right(key, v)
			}
			c.failed(err)
		})
	}},
	{"Refresh", itsKey, func(c *call) {
		c.take(0, []int{c.key}, func(ctx context.Context) { c.failed(c.cache.Refresh(c.loadsBy(ctx), c.key)) })
	}},
	{"Get", nothing, func(c *call) { c.ledger.gets.Add(1); c.found(c.cache.Get(c.key)) }},
	{"Peek", nothing, func(c *call) { c.found(c.cache.Peek(c.key)) }},
	{"Set", itsKey, func(c *call) { c.cache.Set(c.key, c.value(c.key)) }},
	{"SetWithExpire", itsKey, func(c *call) { c.cache.SetWithExpire(c.key, c.value(c.key), c.ttl()) }},
	{"Touch", itsKey, func(c *call) { c.cache.Touch(c.key, c.ttl()) }}, // it removes, with a negative TTL
	{"GetOrSet", itsKey, func(c *call) { c.ledger.gets.Add(1); c.cache.GetOrSet(c.key, c.value(c.key)) }},
	{"GetOrSetWithExpire", itsKey, func(c *call) { c.ledger.gets.Add(1); c.cache.GetOrSetWithExpire(c.key, c.value(c.key), c.ttl()) }},
	{"Swap", itsKey, func(c *call) { c.found(c.cache.Swap(c.key, c.value(c.key))) }},
	{"Compute", itsKey, func(c *call) { c.found(c.cache.Compute(c.key, c.compute)) }},
	{"ComputeWithExpire", itsKey, func(c *call) { c.found(c.cache.ComputeWithExpire(c.key, c.ttl(), c.compute)) }},
	{"ComputeEntry", itsKey, func(c *call) { e, ok := c.cache.ComputeEntry(c.key, c.ttl(), c.compute); c.found(e.Value, ok) }},
	{"Del", itsKey, func(c *call) { c.cache.Del(c.key) }},
	{"GetAndDel", itsKey, func(c *call) { c.found(c.cache.GetAndDel(c.key)) }},
	{"Clear", allKeys, func(c *call) { c.cache.Clear() }},
	{"DelFunc", allKeys, func(c *call) { c.cache.DelFunc(c.del) }},
	{"DelMany", allKeys, func(c *call) { c.cache.DelMany(c.key, c.IntN(c.keys)) }},
	{"Expire", itsKey, func(c *call) { c.cache.Expire(c.key) }},
	{"ExpireFunc", allKeys, func(c *call) { c.cache.ExpireFunc(c.del) }},
	{"ExpireAll", allKeys, func(c *call) { c.cache.ExpireAll() }},
	{"GetMany", nothing, func(c *call) {
		wanted := c.Perm(c.keys)[:1+c.IntN(min(c.keys, 3))]
		c.ledger.gets.Add(uint64(len(wanted)))
		for key, v := range c.cache.GetMany(wanted) {
			c.right(key, v)
		}
	}},
	{"Stale", nothing, func(c *call) { e, ok := c.cache.Stale(c.key); c.found(e.Value, ok) }},
	{"Limit", nothing, func(c *call) { c.cache.Limit() }},
	{"Coldest", nothing, func(c *call) { c.cache.Coldest()(c.yield) }},
	{"Hottest", nothing, func(c *call) { c.cache.Hottest()(c.yield) }},
	{"All", nothing, func(c *call) { c.cache.All()(c.yield) }},
	{"Entries", nothing, func(c *call) {
		c.cache.Entries()(func(e cache.Entry[int, value]) bool { return c.yield(e.Key, e.Value) })
	}},
	{"Entry", nothing, func(c *call) { e, ok := c.cache.Entry(c.key); c.found(e.Value, ok) }},
	{"Len", nothing, func(c *call) { c.measure() }},
	{"Resize", nothing, func(c *call) { c.resize(func() { _ = c.cache.Resize(one(c.dice, 0, 1, 3, 1000)) }) }},
	{"ResizeWeight", nothing, func(c *call) {
		c.resize(func() { _ = c.cache.ResizeWeight(one[uint64](c.dice, 1, 4, 30)) })
	}},
	{"Tune", allKeys, func(c *call) {
		if _, err := c.cache.Tune(one(c.dice, c.tune, c.tune, nil)); err != nil {
			c.failf("Tune: %v", err)
		}
	}},
	{"Stats", nothing, func(c *call) { c.compare() }},
	{"HotKeys", nothing, func(c *call) { c.cache.HotKeys() }},
	{"Wait", nothing, func(c *call) { c.context(c.toWait(), func(ctx context.Context) { _ = c.cache.Wait(ctx) }) }},
	{"Close", allKeys, func(c *call) {
		if !c.stays && (c.depth > 0 || c.chance(30)) { // a closed cache shows little
			c.context(anyContext, func(ctx context.Context) { _ = c.cache.Close(ctx) })
		}
	}},
	{"Save", nothing, func(c *call) {
		var b bytes.Buffer
		if c.cache.Save(&b, c.encode) == nil {
			c.saved.Store(&b)
		}
	}},
	{"Restore", nothing, func(c *call) {
		_, _ = c.cache.Restore(bytes.NewReader(c.saved.Load().Bytes()), c.decode)
	}},
	{"SaveFile", nothing, func(c *call) {
		c.context(c.toWait(), func(ctx context.Context) { _ = c.cache.SaveFile(ctx, c.file(), c.encode) })
	}},
	{"RestoreFile", nothing, func(c *call) { _, _ = c.cache.RestoreFile(c.file(), c.decode) }},
	{"Record", nothing, func(c *call) {
		c.context(endingContext, func(ctx context.Context) { _ = c.cache.Record(ctx, io.Discard, 1+c.IntN(2)) })
	}},
}

// ttl draws one that is negative, zero, or short.
func (c *call) ttl() time.Duration { return one(c.dice, -1, 0, c.duration(), c.duration()) }

// file returns the name of the file of the round.
func (r *round) file() string { return filepath.Join(r.folder, fmt.Sprintf("%x", r.dice.place)) }

// take calls one of the Takes that have a context.
func (c *call) take(gets int, wanted []int, do func(ctx context.Context)) {
	c.context(c.toTake(wanted...), func(ctx context.Context) {
		if last := c.began.Add(c.options.Timeout); c.options.Timeout > 0 && (c.until.IsZero() || c.until.After(last)) {
			c.until = last
		}
		if ctx != nil {
			c.ledger.gets.Add(uint64(gets))
		}
		do(ctx)
	})
}

// took checks what a Take of one key has returned.
func (c *call) took(v value, err error) {
	if err == nil {
		c.right(c.key, v)
	}
	c.failed(err)
}

// failed checks the error of one of the Takes.
func (c *call) failed(err error) {
	var ours *failure
	says := func(text string) bool { return strings.Contains(err.Error(), text) } // an error without a name
	switch {
	case err == nil, errors.As(err, &ours), errors.Is(err, errBurst), errors.Is(err, cache.ErrGoexit), errors.Is(err, cache.ErrNotFound):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, cache.ErrTimeout) && c.options.Timeout > 0:
	case says("the cache is closed") && cache.For(c.cache).Closed():
	case says("would wait for itself") && c.ctx != context.Background():
	case says("waits no longer"), says("that waited panicked or called"): // why the last caller of a fetch has left
	default:
		c.failf("%s: %s of %d fails: %v", c.kind, c.method, c.key, err)
	}
}

// fetchKinds are the actors that fetch for the Takes.
var fetchKinds = []string{"fetch of Take", "fetch of TakeCtx", "fetch of TakeWith", "fetch of Fetch", "fetch of TakeEntry", "fetch of TakeMany", "fetch of FetchMany", "fetch of Refresh"}

// kinds are the actors beside the program.
var kinds = append([]string{"OnRemove", "Weigh", "ExpireBy", "Negative", "Compute", "DelFunc", "Save", "Tune"}, fetchKinds...)

// A failure is the error of a fetch.
type failure struct{ value }

func (f *failure) Error() string { return fmt.Sprintf("the fetch of %d fails", f.key) }

// callOf is the key by which the context of a Fetch has its call.
var callOf = new(byte)

// loadsBy returns a context for the options Load and LoadMany, or nil for nil.
func (c *call) loadsBy(ctx context.Context) context.Context {
	if ctx == nil {
		return nil
	}
	return context.WithValue(ctx, callOf, c)
}

// load is the option Load.
func load(ctx context.Context, key int, l *cache.Load[value]) (value, error) {
	c := ctx.Value(callOf).(*call)
	values, err := c.fetch(ctx, l, key)
	v, ok := values[key]
	l.Gone = l.Gone || !ok
	c.ledger.renewed(l.Old, v)
	return v, err
}

// loadMany is the option LoadMany.
func loadMany(ctx context.Context, keys []int, loads []*cache.Load[value]) (map[int]value, error) {
	c := ctx.Value(callOf).(*call)
	values, err := c.fetch(ctx, loads[0], keys...)
	for i, key := range keys {
		c.ledger.renewed(loads[i].Old, values[key])
	}
	return values, err
}

// fetchOne is a fetch of the key of the call. load is nil for one that gets no Load.
func (c *call) fetchOne(ctx context.Context, load *cache.Load[value]) (value, error) {
	values, err := c.fetch(ctx, load, c.key)
	if load != nil {
		c.ledger.renewed(load.Old, values[c.key])
	}
	return values[c.key], err
}

// fetch is a fetch of the keys that a Take has asked for, and returns their values.
func (c *call) fetch(ctx context.Context, load *cache.Load[value], wanted ...int) (map[int]value, error) {
	top := slices.Max(wanted)
	a := c.function("fetch of "+c.method, top, c.asked.Add(1), uint64(top))
	defer a.leave()
	a.ctx, a.loads = ctx, top
	if c.method == "Take" { // whose fetch has no context
		a.loads = -1
	}
	end, ok := a.ledger.fetch(c.tick, wanted)
	defer end()
	if !ok && !cache.For(a.cache).Closed() {
		a.failf("%s: another fetch of %v runs, and nobody has changed the key since it began", a.kind, wanted)
	}
	a.perform(100)
	if load != nil {
		load.Unchanged = load.HasOld && a.chance(30)
		load.NotFound, load.Gone = a.chance(20), a.chance(10)
		load.Expire = one(a.dice, load.Expire, load.Expire, a.duration(), -1)
	}
	switch {
	case ctx.Err() != nil && a.chance(70):
		return nil, context.Cause(ctx)
	case a.bursts && a.chance(5):
		return nil, &cache.PanicError{Value: errBurst} // of a fetch of its own
	case a.chance(20):
		return nil, &failure{a.value(wanted[0])}
	}
	other := a.IntN(a.keys)
	values := map[int]value{other: a.value(other)} // perhaps of a key that it was not asked for
	for _, key := range wanted {
		if !strings.HasSuffix(c.method, "Many") || a.chance(80) {
			values[key] = a.value(key)
		}
	}
	return values, nil
}

func (r *round) onRemove(e cache.Event[int, value]) {
	r.ledger.left[e.Cause].Add(1)
	r.right(e.Key, e.Value)
	if e.Key >= crowdKeys && e.Key%1000 != 0 { // most of a crowd do nothing
		return
	}
	a := r.enter("OnRemove", e.Value.depth+1, -1, r.dice.at('r', e.Value.id))
	defer a.leave()
	a.ledger.bursts.Add(1)
	if _, twice := a.ledger.told.LoadOrStore(e.Value.id, e.Cause); twice || a.ledger.unread.Load() == e.Value.id {
		a.failf("%+v: it has left before (%t), or was stored though nobody waited and the old value was evicted", e, twice)
	}
	if a.crowded && !a.over.Load() {
		a.rest()
	}
	a.perform(20)
	a.ledger.bursts.Add(-1)
}

func (r *round) weigh(key int, v value) uint32 {
	if key >= crowdKeys {
		return 0
	}
	a := r.enter("Weigh", v.depth+1, v.above, r.dice.at('w', v.id))
	defer a.leave()
	a.right(key, v)
	a.perform(0)
	return uint32(a.IntN(7))
}

func (r *round) expireBy(key int, v value) time.Duration {
	if key >= crowdKeys {
		return 0
	}
	a := r.enter("ExpireBy", v.depth+1, v.above, r.dice.at('e', v.id, uint64(time.Since(r.started)))) // a renewal that is Unchanged asks again
	defer a.leave()
	a.right(key, v)
	a.perform(0)
	return one(a.dice, -1, 0, 10*ms, 50*ms)
}

func (r *round) negative(err error) time.Duration {
	var f *failure
	if !errors.As(err, &f) {
		return 0
	}
	a := r.enter("Negative", f.depth+1, f.above, r.dice.at('n', f.id))
	defer a.leave()
	a.perform(0)
	return one(a.dice, -1, 0, 20*ms, time.Hour)
}

func (r *round) onPanic(p any, stack []byte) {
	if p != errBurst && !strings.Contains(fmt.Sprint(p), "Goexit") {
		r.failf("OnPanic gets %v\n%s", p, stack)
	}
	panic(p) // which ends there
}

// compute is a function of Compute. It acts once: otherwise it could be called for ever.
func (c *call) compute(old value, found bool) (value, cache.Op) {
	n := c.asked.Add(1)
	a := c.function("Compute", c.above, n)
	defer a.leave()
	c.found(old, found)
	if n == 1 {
		a.perform(20)
	}
	return a.value(c.key), one(a.dice, cache.OpKeep, cache.OpSet, cache.OpSet, cache.OpDelete)
}

// tune is a function of Tune, and acts once.
func (c *call) tune(to *cache.Tuning) {
	n, o := c.asked.Add(1), &c.options
	a := c.function("Tune", c.above, n)
	defer a.leave()
	if n == 1 {
		a.perform(20)
	}
	if o.ExpireBy == nil {
		to.Expire = one(a.dice, 0, 10*ms, 50*ms, time.Second)
	}
	if o.Grace > 0 {
		to.Grace, to.Patience = one(a.dice, ms, 20*ms, time.Second), one(a.dice, 0, 5*ms, 30*ms)
	}
	if o.MaxLoads > 0 { // without it actors do what may wait for a permit without end
		to.MaxLoads = one(a.dice, 0, 1, 2)
	}
	to.Bypass = a.chance(10)
}

// del is a function of DelFunc. A load may call it, and may wait for it.
func (c *call) del(key int, v value) bool {
	if key >= crowdKeys {
		return v.id%2 == 0
	}
	a := c.function("DelFunc", max(key, v.above), v.id, c.asked.Add(1))
	defer a.leave()
	a.loads = -1 // it may be called after the fetch has ended, when the cache cannot tell
	a.right(key, v)
	a.perform(20)
	return a.chance(40)
}

func (c *call) encode(dst []byte, key int, v value) ([]byte, error) {
	c.until = time.Time{} // SaveFile waits for this
	c.right(key, v)
	if key < crowdKeys {
		a := c.function("Save", c.above, v.id)
		defer a.leave()
		a.perform(10)
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(v.key)), nil
}

func (c *call) decode(b []byte) (int, value, error) {
	key := int(binary.LittleEndian.Uint64(b))
	return key, c.value(key), nil
}

func (c *call) yield(key int, v value) bool {
	c.right(key, v)
	return c.chance(90)
}
