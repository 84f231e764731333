// This file has the spans that a Tracer makes of loads, and of what calls and loads wait for.

package near

import (
	"context"
	"errors"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/base"
)

// A Tracer begins a span. It returns a context that has the span, in which the rest of its work is done, such as the
// queries of a fetch, and a function that is called once, when that has ended. Neither is called under a lock; both by
// several goroutines at once. They must not panic, nor use the cache. Package otelpinwheel, of the module otel, has
// one for OpenTelemetry.
//
// A hit has no span, nor has what nobody waits for: probes of a server that is away, and a Del that is repeated.
// These are their names:
//
//	load     a load, of one key or of several, whoever waits for it: what follows, and between it the fetch
//	join     a caller waits for a load that another caller of this process has begun
//	read     a call of the store that reads keys, or takes the leases on them
//	lease    a load waits for that of another instance, with the reads before and after
//	write    a call of the store that stores what was fetched, or by a Set
//	release  a call of the store that gives a lease back, as nothing was stored
//	remove   a call of the store that removes keys, as by a Del, or by a DelPrefix
//	fleet    a Revoke, DelPrefix or Clear waits until no instance can serve what it has removed
type Tracer func(ctx context.Context, s Span) (within context.Context, end func(SpanEnd))

// A Span is what a [Tracer] is told when a span begins.
type Span struct {
	Name  string // what it is of
	Cache string // the name of the cache in the statistics
	Keys  int    // how many keys it is for; 0 if those with a prefix

	// KeyHash is the hash of the key of a load or join, by which errors and the page of package stats name it,
	// as 16 hexadecimal digits; 0 if there are several keys. The key itself may be a secret.
	KeyHash uint64

	// Began is when it began, if that was before the call; else zero. A load begins when it begins to wait
	// for a place of MaxLoads. All of a join is over.
	Began time.Time

	// Background says that it is a renewal, for which nobody waits. Its context has the values of the call
	// that found the value due.
	Background bool

	// Load is, for a join, what the Tracer has returned for the load that was waited for; nil if that had not begun.
	Load context.Context
}

// A SpanEnd is what a [Tracer] is told when a span ends.
type SpanEnd struct {
	// Outcome says where the results of a load are from: "found" in the store, "fetched", "not_found" in
	// either, "served_on" from memory by ServeOn, or "mixed" for several keys; with an Err "fetched" if the fetch
	// was called. For a lease it is "found" or "not_found", or "in_vain" if the store still has nothing. For a fleet
	// it is "answered" if all instances have, or "waited" if they had the time to. Else it is empty.
	Outcome string

	// Fetched is the number of keys for which a load has called the function that fetches.
	Fetched int

	// Err is why it has failed, or the caller of a join has left; nil if there is no value. Text of the
	// program and of the store is in it as it is, and may have keys.
	Err error
}

var errNotReturned = errors.New("near: it panicked, or called runtime.Goexit")

// trace makes the cache use a Tracer.
func (c *Cache[K, V]) trace(t Tracer) {
	if c.tracer = t; t != nil {
		cache.For(c.local.cache).Follow(c.joined)
	}
}

// span begins a span, if there is a Tracer.
func (c *Cache[K, V]) span(ctx context.Context, s Span) (context.Context, func(SpanEnd)) {
	if c.tracer == nil {
		return ctx, func(SpanEnd) {}
	}
	s.Cache = cache.For(c.local.cache).Name()
	return c.tracer(ctx, s)
}

// loadSpan begins the span of a load, whose function got ctx.
func (c *Cache[K, V]) loadSpan(ctx context.Context, all []*lookup[K, V]) (context.Context, func(SpanEnd)) {
	if c.tracer == nil {
		return ctx, func(SpanEnd) {}
	}
	load, s := ctx.(base.Load), Span{Name: "load", Keys: len(all)}
	s.Background = load.InBackground()
	if len(all) == 1 {
		s.KeyHash = cache.For(c.local.cache).Hash(all[0].key)
	}
	if waited := load.Waited(); waited > 0 {
		s.Began = time.Now().Add(-waited)
	}
	ctx, end := c.span(ctx, s)
	load.Enter(ctx)
	return ctx, end
}

// joined makes the span of a wait that is over.
func (c *Cache[K, V]) joined(caller, load context.Context, hash uint64, began time.Time, err error) {
	_, end := c.span(caller, Span{Name: "join", Keys: 1, KeyHash: hash, Began: began, Load: load})
	end(SpanEnd{Err: inSpan(err)})
}

// traced makes a call of the store one within a span.
func (c *Cache[K, V]) traced(name string, keys int, call func(context.Context) error) func(context.Context) error {
	if c.tracer == nil {
		return call
	}
	return func(ctx context.Context) error {
		ctx, end := c.span(ctx, Span{Name: name, Keys: keys})
		err := errNotReturned
		defer func() { end(SpanEnd{Err: err}) }()
		err = call(ctx)
		return err
	}
}

// inSpan returns an error as callers get it, but for the key that package cache puts into its own.
func inSpan(err error) error {
	if errors.Is(err, cache.ErrTimeout) {
		return cache.ErrTimeout
	}
	return unkept(err)
}
