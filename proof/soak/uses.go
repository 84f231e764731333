package main

import (
	"fmt"
	"sync/atomic"
	"time"
)

// uses records when a key of a cache with Idle was last used. That is certain when no use is
// under way.
type uses struct {
	begun, ended atomic.Uint64
	last         atomic.Int64
}

// A use is a use of a key under way.
type use struct {
	begun uint64
	last  int64
	alone bool
}

func (u *uses) begin() use {
	n := u.begun.Add(1)
	alone := u.ended.Load() == n-1
	return use{n, u.last.Load(), alone}
}

// end records that a use has ended. It returns what is wrong if the use began at tb and
// found a value although the key had been idle for longer than idle.
func (u *uses) end(w use, tb, te, idle int64, found bool) (wrong string) {
	if found && w.alone && u.begun.Load() == w.begun && tb >= plus(w.last, idle) {
		wrong = fmt.Sprintf("a value was found that had been idle for %v", time.Duration(tb-w.last))
	}
	for last := u.last.Load(); last < te && !u.last.CompareAndSwap(last, te); last = u.last.Load() {
	}
	u.ended.Add(1)
	return wrong
}
