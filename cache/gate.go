package cache

import (
	"context"
	"math"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A gate counts the ticks under way, so that Close can admit no more and wait for the rest.
type gate struct {
	closed atomic.Bool
	inside *semaphore.Weighted // a unit for each that is inside
}

const everyone = math.MaxInt64

func (g *gate) init() { g.inside = semaphore.NewWeighted(everyone) }

// enter reports whether the gate is open; if so, exit must follow.
func (g *gate) enter() bool {
	if !g.inside.TryAcquire(1) {
		return false // close waits, and the gate is closed
	}
	// Not before TryAcquire: close closes the gate first, and then waits for those inside.
	if g.closed.Load() {
		g.inside.Release(1)
		return false
	}
	return true
}

func (g *gate) exit() { g.inside.Release(1) }

func (g *gate) close() { g.closed.Store(true) }

// wait waits until all have left a closed gate.
func (g *gate) wait(ctx context.Context) error {
	if err := g.inside.Acquire(ctx, everyone); err != nil {
		return context.Cause(ctx)
	}
	g.inside.Release(everyone)
	return nil
}
