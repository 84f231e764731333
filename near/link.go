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
	until  atomic.Int64 // always, never, or the last time at which to serve

	mu    sync.Mutex // guards what follows, and changes of until
	open  bool       // between ChangedAll and Lost
	asOf  int64      // all changes before it have been told; never before the first Current
	timer *time.Timer
	armed bool
}

const (
	always = math.MaxInt64
	never  = math.MinInt64
)

func (l *link) init(maxLag time.Duration) {
	l.start, l.maxLag, l.asOf = time.Now(), maxLag, never
	l.until.Store(never)
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

// lost is called when changes may go untold. It reports whether the link was open.
func (l *link) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.open
	l.open = false
	l.until.Store(never)
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
	if !l.open || at < l.asOf {
		return
	}
	l.asOf = at
	l.trust()
}

// trust sets until, and the timer. The lock must be held.
func (l *link) trust() {
	left := plus(plus(l.asOf, int64(l.maxLag)/4*3), -l.now())
	if left <= 0 {
		l.until.Store(plus(l.asOf, int64(l.maxLag)))
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
	if l.open {
		l.trust()
	}
}

// lag returns the time since the moment for which the source has vouched, and false if it
// never has.
func (l *link) lag() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(-plus(l.asOf, -l.now())), l.asOf != never
}

// plus returns the sum of two times, at most the longest Duration, before or after 0.
func plus(a, b int64) int64 {
	switch {
	case a > 0 && b > math.MaxInt64-a:
		return math.MaxInt64
	case a < 0 && b < -math.MaxInt64-a:
		return -math.MaxInt64
	}
	return a + b
}
