// This file has the type of a time that Tune changes while others read it.

package cache

import (
	"sync/atomic"
	"time"
)

// A tunable is an option that Tune changes.
type tunable struct{ ns atomic.Int64 }

func (d *tunable) get() time.Duration   { return time.Duration(d.ns.Load()) }
func (d *tunable) set(to time.Duration) { d.ns.Store(int64(to)) }
