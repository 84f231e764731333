package near

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A link knows until when values in memory may be served: while the source has vouched for
// a moment at most MaxLag ago. Times are in nanoseconds since start, by the monotonic clock.
//
// Reading the clock takes longer than a hit. So until is always while the last Current is
// recent, and after three quarters of MaxLag a timer sets it to the exact time. The timer
// may be late by a quarter of MaxLag. Then every hit reads the clock, but usually the next
// Current comes before that.
type link struct {
	start  time.Time
	maxLag time.Duration
	strict bool         // until is never always
	until  atomic.Int64 // always, never, or the last time at which to serve
	told   atomic.Int64 // asOf, for those without the lock

	mu    sync.Mutex // guards what follows, and changes of until
	open  bool       // between ChangedAll and Lost
	ended bool       // nothing is served any more
	asOf  int64      // all changes before it have been told; never before the first Current
	timer *time.Timer
	armed bool
}

const (
	always = math.MaxInt64
	never  = math.MinInt64
)

func (l *link) init(maxLag time.Duration, strict bool) {
	l.start, l.maxLag, l.strict, l.asOf = time.Now(), maxLag, strict, never
	l.until.Store(never)
	l.told.Store(never)
	l.timer = time.AfterFunc(maxLag, l.doubt)
	l.timer.Stop()
}

func (l *link) now() int64 { return int64(time.Since(l.start)) }

// serves reports whether values in memory may be served now.
func (l *link) serves() bool {
	return l.until.Load() == always || l.reaches()
}

// reaches is the part of serves that may read the clock. It is apart so that serves is
// inlined.
func (l *link) reaches() bool {
	until := l.until.Load()
	return until == always || until != never && l.now() <= until
}

// opened is called when all changes from now on will be told.
func (l *link) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = true
}

// lost is called when changes may go untold. Values are served until MaxLag after the moment
// that was vouched for last. It reports whether the link was open.
func (l *link) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.open
	l.open = false
	// What was vouched for stays so: what was in memory at asOf, and what was read since.
	if l.asOf != never && !l.ended {
		l.until.Store(l.asOf + int64(l.maxLag))
	}
	l.timer.Stop()
	l.armed = false
	return was
}

// isOpen reports whether all changes are told, as far as the source knows.
func (l *link) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// current is called when every change before asOf has been told.
func (l *link) current(asOf time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := min(int64(asOf.Sub(l.start)), l.now())
	if !l.open || l.ended || at < l.asOf {
		return
	}
	l.asOf = at
	l.told.Store(at)
	l.trust()
}

// trust sets until, and the timer. The lock must be held.
func (l *link) trust() {
	careful := l.asOf + int64(l.maxLag)/4*3
	left := careful - l.now()
	if left <= 0 || l.strict {
		l.until.Store(l.asOf + int64(l.maxLag))
		return
	}
	l.until.Store(always)
	if !l.armed {
		l.armed = true
		l.timer.Reset(time.Duration(left))
	}
}

// doubt is called by the timer. It sets the timer again if there was a Current meanwhile.
func (l *link) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	if l.open && !l.ended {
		l.trust()
	}
}

// close ends all that is served from memory.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.until.Store(never)
	l.told.Store(never)
	l.timer.Stop()
}

// lag returns the time since the moment for which the source has vouched, and false if it
// never has.
func (l *link) lag() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.now() - l.asOf), l.asOf != never
}
