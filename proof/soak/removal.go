package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// This file has what a record checks of the calls of OnRemove.

// reported records a call of OnRemove and returns what is wrong with it.
func (r *record) reported(number uint64, cause cache.Cause) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := now()
	r.past.note(event{at, number, int64(cause), report, called})
	i := r.find(number)
	if i < 0 {
		return fmt.Sprintf("OnRemove was called for value %d (%v), which was reported before or never stored", number, cause)
	}
	it := r.open[i]
	if cause == cache.Expired && r.touching == 0 && at < it.earliest {
		return fmt.Sprintf("value %d was reported as expired %v before it could be", number, time.Duration(it.earliest-at))
	}
	r.open = slices.Delete(r.open, i, i+1)
	for _, w := range r.open {
		if w.stored && w.acked < it.began {
			return fmt.Sprintf("value %d was reported before value %d, which it took the place of", number, w.number)
		}
	}
	// An older load of unknown result was not stored.
	r.open = slices.DeleteFunc(r.open, func(w item) bool { return w.acked != 0 && !w.stored && w.acked < it.began })
	r.present.CompareAndSwap(number, 0)
	r.refresh()
	return ""
}

// enter begins a call of OnRemove and exit ends it.
func (r *record) enter() (wrong string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calling {
		wrong = "OnRemove was called for the key while a call for it was running"
	}
	r.calling = true
	return wrong
}

func (r *record) exit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calling = false
}
