// This file has the word of an entry that says when its value is due for renewal.

package cache

import (
	"math/rand/v2"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// Beside its deadline an entry has a word that says when it is due: a time; or never, if
// it has no TTL; or underWay, if a renewal has begun or is about to. Its lowest bits count
// how many renewals in a row have failed. A caller that finds a value due swaps the word to
// underWay, under the lock for reading, so only one begins a renewal. When the load
// ends, it sets the word to a time again, whatever has become of the key.
const (
	triesMask = 1<<5 - 1
	maxTries  = triesMask - 1                   // as underWay with triesMask is never
	underWay  = int64(clock.Never &^ triesMask) // this and all above it, except never

	minPause   = 100 * time.Millisecond
	pausePart  = 100         // the first pause is this part of Expire
	pauseLimit = time.Minute // the longest pause without Expire
)

// dueAt makes a word of a time and a number of failures in a row. It makes the time earlier by
// some nanoseconds.
func dueAt(at int64, failed int64) int64 {
	if at >= underWay {
		return clock.Never
	}
	return at&^triesMask | failed
}

// renewing reports whether a renewal is under way.
func renewing(due int64) bool { return due >= underWay && due != clock.Never }

// pauseAfter returns the word for a value whose renewal failed or could not begin: it is due again
// after a pause.
func (t *timing) pauseAfter(failed int64) int64 {
	longest := t.expireAfter
	if longest == 0 {
		longest = pauseLimit
	}
	longest = max(longest, minPause)
	pause := max(longest/pausePart, minPause)
	for n := failed; n > 1 && pause < longest; n-- {
		pause *= 2
	}
	pause = min(pause, longest)
	pause += rand.N(pause / 4) // so that processes do not load in step
	return dueAt(clock.After(t.clock.Now(), pause), failed)
}
