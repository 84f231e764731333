package cache

import (
	"context"
	"testing"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// What package cache_test needs beside the exported names. Its tests are those that a rework of the
// inside may not break.

const Backlog = backlog

// WallClock is what Save and Restore take for the wall clock.
var WallClock = &wallClock

// TTL is short for the TTL of an Entry.
func (c *Cache[K, V]) TTL(key K) (time.Duration, bool) {
	e, ok := c.Entry(key)
	return e.TTL, ok
}

// Pinned reports whether a walk has left a shard pinned.
func (c *Cache[K, V]) Pinned() (pinned bool) {
	for s := range c.common.all() {
		pinned = pinned || s.slots.pinned()
	}
	return pinned
}

func (c *Cache[K, V]) Check() error        { return c.check() }
func (c *Cache[K, V]) SetShards(n int)     { c.setShards(n) }
func (c *Cache[K, V]) SplitInto(n int)     { c.splitInto(n) }
func (c *Cache[K, V]) Tick() time.Duration { return c.common.time.clock.PerTick }

func SourceOf[K comparable, V any](w weak.Pointer[Cache[K, V]]) sources.Cache[stats.Snapshot] {
	return sourceOf(w)
}

func WantWhole[K comparable, V any](t *testing.T, c *Cache[K, V]) { t.Helper(); wantWhole(t, c) }
func MustClose[K comparable, V any](t *testing.T, c *Cache[K, V]) { t.Helper(); mustClose(t, c) }

// WithExtras returns options with all that watches a cache.
func WithExtras[K comparable, V any](o Options[K, V]) Options[K, V] {
	o.HotKeys, o.Ages, o.WhatIf = 10, true, o.Limit > 0 && o.MaxWeight == 0
	return o
}

// An ErrHook is a context that calls a function when it is asked for its error.
type ErrHook struct {
	context.Context
	Asked func()
}

func (h ErrHook) Err() error { h.Asked(); return h.Context.Err() }
