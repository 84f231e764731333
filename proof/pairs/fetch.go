package pairs

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// fetchKinds are the actors that fetch for the Takes.
var fetchKinds = []string{"fetch of Take", "fetch of TakeCtx", "fetch of TakeWith", "fetch of TakeMissed", "fetch of TakeEntry", "fetch of TakeMany", "fetch of TakeManyWith",
	"fetch of Fetch", "fetch of FetchMany", "fetch of Refresh"}

// loads are what a fetch that gets a Load tells of each key.
type loads map[int]*cache.Load[value]

// fetch is a fetch of the keys that a Take has asked for, and returns their values. told is
// nil for a Take whose fetch gets no Load.
func (c *call) fetch(ctx context.Context, told loads, keys ...int) (map[int]value, error) {
	top := keys[0]
	for _, key := range keys {
		top = max(top, key)
	}
	a := c.function("fetch of "+c.method, ctx, top, c.asked.Add(1), uint64(top))
	defer a.leave()
	a.permit = c.method != "Take" // whose fetch has no context
	a.loads = top
	a.tracef("%s is to fetch %v", a, keys)
	end, ok := a.ledger.fetch(c.tick, keys)
	defer end()
	if !ok {
		a.failf("%s: another fetch of %v runs, and nobody has changed the key since it began", a, keys)
	}
	old := map[int]value{}
	for key, load := range told {
		old[key] = load.Old
	}
	a.checkDeadline(ctx)
	a.checkEnd(ctx)
	a.act()
	a.work(ctx)
	a.checkEnd(ctx)
	a.burst()
	values, err := a.fetched(ctx, told, keys)
	for key, load := range told {
		v, ok := values[key]
		if err == nil && ok && load.Err == nil && old[key].id != 0 && !load.Unchanged && c.loadsEndAtOnce() {
			a.ledger.renewed(old[key], v, keys)
		}
	}
	return values, err
}

// The loaders of the options act for the call of Fetch, FetchMany or Refresh that has begun the
// load: by its context, which has the call.
type callKey struct{}

// loading returns ctx with the call, for the loaders. A nil context stays nil.
func (c *call) loading(ctx context.Context) context.Context {
	if ctx == nil {
		return nil
	}
	return context.WithValue(ctx, callKey{}, c)
}

func loadOne(ctx context.Context, key int, load *cache.Load[value]) (value, error) {
	values, err := ctx.Value(callKey{}).(*call).fetch(ctx, loads{key: load}, key)
	return values[key], err
}

func loadMany(ctx context.Context, told map[int]*cache.Load[value]) (map[int]value, error) {
	c, keys := ctx.Value(callKey{}).(*call), slices.Sorted(maps.Keys(told))
	values, err := c.fetch(ctx, told, keys...)
	if c.at(uint64(keys[0])).chance(10) { // the call, which has dice of its own, may have left
		clear(values)
	}
	return values, err
}

// loadsEndAtOnce reports whether loads end when their fetch does: nobody is asked before a
// value is stored.
func (r *round) loadsEndAtOnce() bool {
	return r.options.Weigh == nil && !r.has("DelFunc")
}

// has reports whether a method is among those of the round.
func (r *round) has(name string) bool {
	return slices.ContainsFunc(r.methods, func(m method) bool { return m.name == name })
}

// checkDeadline checks that the deadline of a fetch is no later than Timeout.
func (a *actor) checkDeadline(ctx context.Context) {
	if a.options.Timeout == 0 || a.kind == "fetch of Take" {
		return
	}
	latest := a.options.Timeout
	if a.kind == "fetch of TakeEntry" {
		latest = max(latest, 300*ms) // it may have a longer one
	}
	if at, ok := ctx.Deadline(); !ok || time.Until(at) > latest {
		a.failf("%s: the deadline of the context is %v, %t", a, time.Until(at), ok)
	}
}

// checkEnd checks that a context which has ended says so in all its methods.
func (a *actor) checkEnd(ctx context.Context) {
	select {
	case <-ctx.Done():
		if ctx.Err() == nil || context.Cause(ctx) == nil {
			a.failf("%s: the context is done, with the error %v and the cause %v", a, ctx.Err(), context.Cause(ctx))
		}
	default:
	}
}

// work takes some time, in most cases until the context ends.
func (a *actor) work(ctx context.Context) {
	took := a.duration()
	if a.chance(15) {
		took = a.options.Timeout + 5*ms
	}
	if a.chance(30) {
		time.Sleep(took)
		return
	}
	timer := time.NewTimer(took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// fetched draws the result of a fetch.
func (a *actor) fetched(ctx context.Context, told loads, keys []int) (map[int]value, error) {
	for _, key := range keys {
		if load := told[key]; load != nil {
			a.instruct(load)
			if len(keys) > 1 && a.chance(20) {
				load.Err = &failure{a.value(key)}
			}
		}
	}
	switch {
	case ctx.Err() != nil && a.chance(70):
		return nil, context.Cause(ctx)
	case a.bursts && a.chance(5):
		return nil, &cache.PanicError{Value: &outburst{a.kind}} // of a fetch of its own
	case a.chance(20):
		return nil, &failure{a.value(keys[0])}
	}
	values := map[int]value{}
	for _, key := range keys {
		if len(keys) == 1 || a.chance(80) {
			values[key] = a.value(key)
		}
	}
	if strings.HasPrefix(a.kind, "fetch of TakeMany") && a.chance(20) {
		other := a.IntN(a.keys)
		clear(values) // also of a key that it was not asked for
		values[other] = a.value(other)
	}
	return maps.Clone(values), nil
}

// instruct draws what a fetch tells the cache beside its value.
func (a *actor) instruct(load *cache.Load[value]) {
	switch {
	case load.HasOld && a.chance(30):
		load.Unchanged = true
	case a.chance(10):
		load.Expire = -1
	case a.chance(20):
		load.Expire = a.duration()
	}
	load.NotFound = a.chance(20)
	if a.chance(30) {
		load.KeepError = a.duration() - 10*ms
	}
	runtime.Gosched()
}

// failed checks the error of one of the Takes.
func (c *call) failed(err error) {
	var ours *failure
	var burst *outburst
	switch {
	case errors.As(err, &ours), errors.As(err, &burst):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errLeft):
	case errors.Is(err, cache.ErrGoexit):
	case says(err, "LoadMany has left the key out") && c.options.LoadMany != nil:
	case errors.Is(err, cache.ErrTimeout) && (c.options.Timeout > 0 || c.has("TakeEntry")): // which may have one of its own
	case says(err, "the cache is closed") && c.cache.Closed():
	case says(err, "would wait for itself") && c.permit:
	case says(err, "waits no longer", "that waited panicked or called"): // why the last caller of a fetch has left
	default:
		c.failf("%s: %s of %d fails: %v", c.actor, c.method, c.key, err)
	}
}

// says reports whether an error of the cache without a name has one of some texts.
func says(err error, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
}
