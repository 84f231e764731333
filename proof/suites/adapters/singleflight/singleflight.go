// Package singleflight has the names of golang.org/x/sync/singleflight on top of
// Cache.TakeWith. Nothing stays in the cache: it only shares loads.
package singleflight

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A Group is a cache that its first use makes.
type Group struct {
	once  sync.Once
	cache *cache.Cache[string, any]
}

// A Result is what DoChan sends.
type Result struct {
	Val    any
	Err    error
	Shared bool
}

// A panicError is what package singleflight panics with. With the cache, the caller gets the
// value that its function panicked with.
//
//lint:ignore U1000 the tests of the original have it
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprint(p.value) }

func (g *Group) made() *cache.Cache[string, any] {
	g.once.Do(func() { g.cache = cache.Must(cache.Options[string, any]{Name: "group"}) })
	return g.cache
}

// Do calls fn, or waits for a call under way. shared is true for those that waited: the
// caller of fn cannot know.
func (g *Group) Do(key string, fn func() (any, error)) (v any, err error, shared bool) {
	return g.do(key, fn, func() {})
}

// do is Do, and calls begin when fn begins.
func (g *Group) do(key string, fn func() (any, error), begin func()) (v any, err error, shared bool) {
	c := g.made()
	shared = true
	v, err = c.TakeWith(context.Background(), key, func(_ context.Context, l *cache.Load[any]) (any, error) {
		shared = false
		begin()
		l.Expire = -1 // so the result is not stored
		return fn()
	})
	if p := (*cache.PanicError)(nil); errors.As(err, &p) {
		panic(p)
	}
	if errors.Is(err, cache.ErrGoexit) {
		runtime.Goexit()
	}
	return v, err, shared
}

// DoChan is Do in a goroutine. It waits a short time until that calls fn or has joined a
// call: the cache does not report one that waits for its turn.
func (g *Group) DoChan(key string, fn func() (any, error)) <-chan Result {
	const patience = 100 * time.Millisecond
	results := make(chan Result, 1)
	begun := make(chan struct{})
	waiting := g.waiting()
	go func() {
		v, err, shared := g.do(key, fn, func() { close(begun) })
		results <- Result{v, err, shared}
	}()
	for started := time.Now(); g.waiting() == waiting && time.Since(started) < patience; {
		select {
		case <-begun:
			return results
		case <-time.After(time.Millisecond):
		}
	}
	return results
}

// waiting counts the callers that have joined a call.
func (g *Group) waiting() uint64 { return g.made().Stats().Loads.Waiters }

// Forget makes the next caller call its function.
func (g *Group) Forget(key string) { g.made().Del(key) }
