// This file has the word of an entry that says when its value is due for renewal, whether a renewal is
// under way, and how many have failed.

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
// some nanoseconds, and never later.
func dueAt(at int64, failed int64) int64 {
	if at >= underWay {
		return clock.Never
	}
	if failed > 0 {
		at -= triesMask
	}
	return at&^triesMask | failed
}

// renewing reports whether a renewal is under way.
func renewing(due int64) bool { return due >= underWay && due != clock.Never }

// triesOf returns how many renewals in a row have failed, by the word of an entry.
func triesOf(word int64) int64 {
	if word == clock.Never {
		return 0
	}
	return word & triesMask
}

// pauseAfter returns the word for a value whose renewal failed or could not begin: it is due again
// after a pause.
func (t *timing) pauseAfter(failed int64) int64 {
	longest := t.expireAfter.get()
	if longest <= 0 { // also ttlByValue
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

// isDue reports whether entry i is due, and whether its renewal is under way. The lock must be held, at
// least for reading.
func (l *lives) isDue(i uint32, t *timing) (due, underWay bool) {
	word := l.due[i].Get()
	return t.clock.Passed(word), renewing(word)
}

// isUnderWay reports whether a renewal of entry i is under way, or about to begin.
func (l *lives) isUnderWay(i uint32) bool { return l.due != nil && renewing(l.due[i].Get()) }

// claim makes the caller the one that is to renew entry i, which is due. It returns false if another one
// is. The lock must be held, at least for reading.
func (l *lives) claim(i uint32, t *timing) bool {
	word := l.due[i].Get()
	return t.clock.Passed(word) && l.due[i].Swap(word, underWay|word&triesMask)
}

// renew notes that a renewal of entry i has begun, and returns how many in a row have failed. It leaves
// a word alone that is not due yet, and returns -1: if the renewal fails, nothing has changed.
func (l *lives) renew(i uint32, t *timing) (failed int) {
	if l.due == nil {
		return -1
	}
	word := l.due[i].Get()
	switch {
	case t.clock.Passed(word):
		l.due[i].Set(underWay | word&triesMask)
	case !renewing(word):
		return -1
	}
	return int(triesOf(word))
}

// dueNow makes entry i due again, as the renewal that was to begin has brought nothing.
func (l *lives) dueNow(i uint32, t *timing) {
	l.due[i].Set(dueAt(t.clock.Now(), triesOf(l.due[i].Get())))
}

// pause postpones a renewal of entry i that cannot begin now, or has failed: then failed is 1.
func (l *lives) pause(i uint32, failed int64, t *timing) {
	l.due[i].Set(t.pauseAfter(min(triesOf(l.due[i].Get())+failed, maxTries)))
}

// pauseFor is pause after another failure, for a pause that the option RetryAfter has chosen.
func (l *lives) pauseFor(i uint32, d time.Duration, t *timing) {
	failed := min(triesOf(l.due[i].Get())+1, maxTries)
	l.due[i].Set(dueAt(clock.After(t.clock.Now(), d), failed))
}

// dueOf returns the word of entry i, or never.
func (l *lives) dueOf(i uint32) int64 {
	if l.due == nil {
		return clock.Never
	}
	return l.due[i].Get()
}
