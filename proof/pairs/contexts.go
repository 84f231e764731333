package pairs

import (
	"context"
	"slices"
	"time"
)

// A contextKind is a kind of context that a caller can have.
type contextKind struct {
	name  string
	ends  bool // by itself
	own   bool // is the one that the actor got, or derived from it
	begin func(c *call) (ctx context.Context, end time.Time, cancel func())
}

var contextKinds = []contextKind{
	{"own", false, true, func(c *call) (context.Context, time.Time, func()) {
		return c.actor.ctx, time.Time{}, func() {}
	}},
	{"with a value", false, true, func(c *call) (context.Context, time.Time, func()) {
		return context.WithValue(c.actor.ctx, valueKey{}, 1), time.Time{}, func() {}
	}},
	{"cancelled at the end", false, true, func(c *call) (context.Context, time.Time, func()) {
		ctx, cancel := context.WithCancel(c.actor.ctx)
		return ctx, time.Time{}, cancel
	}},
	{"cancelled", true, true, func(c *call) (context.Context, time.Time, func()) {
		ctx, cancel := context.WithCancelCause(c.actor.ctx)
		after := c.duration()
		timer := time.AfterFunc(after, func() { cancel(errLeft) })
		return ctx, c.began.Add(after), func() { timer.Stop(); cancel(errLeft) }
	}},
	{"with a deadline", true, true, func(c *call) (context.Context, time.Time, func()) {
		return c.withDeadline()
	}},
	{"of another request", true, false, func(c *call) (context.Context, time.Time, func()) {
		after := c.duration()
		ctx, cancel := context.WithTimeoutCause(context.Background(), after, errLeft)
		return ctx, c.began.Add(after), cancel
	}},
	{"ended", true, true, func(c *call) (context.Context, time.Time, func()) {
		ctx, cancel := context.WithCancel(c.actor.ctx)
		cancel()
		return ctx, c.began, cancel
	}},
	{"Background", false, false, func(c *call) (context.Context, time.Time, func()) {
		return context.Background(), time.Time{}, func() {}
	}},
	{"nil", true, false, func(c *call) (context.Context, time.Time, func()) {
		return nil, time.Time{}, func() {}
	}},
	{"that asks the cache", true, true, func(c *call) (context.Context, time.Time, func()) {
		ctx, end, cancel := c.withDeadline()
		return asking{ctx, c}, end, cancel
	}},
}

type valueKey struct{}

// withDeadline returns the context of the actor with a deadline. A timer ends it, as
// WithTimeout relies on the parent if that has an earlier deadline, and the context of a fetch
// postpones its own when others join.
func (c *call) withDeadline() (ctx context.Context, end time.Time, cancel func()) {
	after := c.duration()
	ctx, cancelCtx := context.WithTimeout(c.actor.ctx, after)
	timer := time.AfterFunc(after, cancelCtx)
	return ctx, c.began.Add(after), func() { timer.Stop(); cancelCtx() }
}

// context draws a context that is as demanded, and calls do with it.
func (c *call) context(demand demand, do func(ctx context.Context, end time.Time)) {
	kind := one(c.dice, contextKinds...)
	for !kind.meets(demand) || slices.Contains(c.without, kind.name) {
		kind = one(c.dice, contextKinds...)
	}
	c.met.add(c.method, kind.name)
	ctx, end, cancel := kind.begin(c)
	defer cancel()
	c.ctx = ctx
	c.tracef("%s: %s of %d, with a context: %s", c.actor, c.method, c.key, kind.name)
	do(ctx, end)
}

func (k contextKind) meets(demand demand) bool {
	return k.ends || demand == anyContext || demand == ownContext && k.own
}

// An asking context asks the cache for an entry whenever it is asked for anything.
type asking struct {
	context.Context
	call *call
}

func (a asking) ask() {
	a.call.cache.Peek(a.call.key)
	a.call.cache.Len()
	_, _ = a.call.cache.Compute(a.call.key, func(old value, found bool) (value, op) { return old, keep })
}

func (a asking) Deadline() (time.Time, bool) { a.ask(); return a.Context.Deadline() }
func (a asking) Done() <-chan struct{}       { a.ask(); return a.Context.Done() }
func (a asking) Err() error                  { a.ask(); return a.Context.Err() }
func (a asking) Value(key any) any           { a.ask(); return a.Context.Value(key) }
