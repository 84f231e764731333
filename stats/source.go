package stats

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// process has everything that the process has registered.
var process registries

func init() { sources.Register = process.register }

// A Named is the [Snapshot] of a cache, or the [WheelSnapshot] of a timing wheel. Its Name is
// valid UTF-8, not empty, and differs from that of every other cache, or every other timing
// wheel. A cache and a timing wheel may have the same.
type Named[S any] struct {
	Name     string
	Since    time.Time // when it was made, which tells it from an earlier one of that name
	Snapshot S
}

// Caches takes a [Snapshot] of every cache of the process, one after another, and returns
// them sorted by name. It is safe for concurrent use.
func Caches() []Named[Snapshot] { return process.caches.named() }

// Wheels is [Caches] for timing wheels.
func Wheels() []Named[WheelSnapshot] { return process.wheels.named() }

func (r *registry[S]) named() []Named[S] {
	looks := r.looks(everything, time.Now())
	all := make([]Named[S], len(looks))
	for i, l := range looks {
		all[i] = Named[S]{l.name, l.since, *l.stats}
	}
	return all
}
