package near

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A link knows whether what is in memory may be served. Memory is of one of two kinds. While
// the source vouches, it has what was read or fetched since the last ChangedAll, and may be
// served for MaxLag after the moment for which the source has vouched. When that time is over,
// memory is emptied; from then on each value is kept for MaxLag after its load began, and
// may be served whatever the source says. When the source vouches again, those values are
// right still. Times are in nanoseconds since start, by the monotonic clock.
//
// Reading the clock takes longer than a hit. So while the last Current is recent, until has the
// value always, and hits do not read the clock. When three quarters of MaxLag have passed without
// another Current, a timer, which may be late by a quarter of MaxLag, sets until to the exact time. With exact, until
// never has the value always, and there is no timer.
type link struct {
	start  time.Time
	maxLag time.Duration
	exact  bool         // the option CheckClock
	until  atomic.Int64 // always, or the last time at which to serve what is in memory; never, if exact and that is of the second kind

	mu      sync.Mutex // guards what follows, and changes of until
	open    bool       // between ChangedAll and Lost
	since   int64      // the last ChangedAll
	vouched bool       // memory is of the first kind; until is always if not
	asOf    int64      // all changes before it have been told; never before the first Current
	behind  int64      // how long before it was told asOf was
	timer   *time.Timer
	armed   bool
}

const (
	always = math.MaxInt64
	never  = math.MinInt64
)

func (l *link) init(maxLag time.Duration, exact bool) {
	l.start, l.maxLag, l.exact, l.asOf = time.Now(), maxLag, exact, never
	l.until.Store(l.unbounded())
	l.timer = time.AfterFunc(maxLag, l.doubt)
	l.timer.Stop()
}

func (l *link) now() int64 { return int64(time.Since(l.start)) }

// end returns the last time at which to serve what is in memory. mu must be held.
func (l *link) end() int64 { return plus(l.asOf, int64(l.maxLag)) }

// unbounded is until for memory of the second kind.
func (l *link) unbounded() int64 {
	if l.exact {
		return never
	}
	return always
}

// certain reports whether memory may be served. If not, lapse must be called before a get.
func (l *link) certain() bool { return l.until.Load() == always }

// lapse calls forget, which empties memory, if memory may not be served any more. Loads that began
// before are not kept. forget gets the moment for which the source has vouched.
//
// forget runs under mu, so it must not call functions of the program. Gets that come meanwhile must
// wait: after a miss they would look into memory again. And so must a Current: it would let loads
// be kept as long as the source tells of changes, though nobody asks for that afterwards.
func (l *link) lapse(forget func(asOf int64)) {
	if until := l.until.Load(); until == never || l.now() <= until {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.vouched && l.now() > l.end() {
		forget(l.asOf)
		l.vouched = false
		l.until.Store(l.unbounded())
	}
}

// vouches reports whether a load that has begun may be kept for as long as the source tells of
// changes.
func (l *link) vouches() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.vouched && l.now() <= l.end()
}

// vouchesFor reports whether the source has told of all changes before a time that is not before at.
func (l *link) vouchesFor(at int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.vouched && l.asOf >= at
}

// opened is called when all changes from now on will be told, and memory is empty. It reports
// whether the link was not open.
func (l *link) opened() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.open
	l.open = true
	l.since = l.now()
	return !was
}

// lost is called when changes may go untold. It reports whether the link was open.
func (l *link) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.open
	l.open = false
	return was
}

// isOpen reports whether all changes are told, as far as the source knows.
func (l *link) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// openFor returns for how long all changes are told, without another ChangedAll; 0 if memory is not confirmed.
func (l *link) openFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open || !l.vouched || l.now() > l.end() {
		return 0
	}
	return time.Duration(l.now() - l.since)
}

// current is called when every change before asOf has been told.
func (l *link) current(asOf time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	at := min(int64(asOf.Sub(l.start)), now)
	if !l.open || at < l.asOf {
		return
	}
	l.asOf, l.behind = at, now-at
	l.vouched = l.vouched || now <= l.end()
	l.trust()
}

// trust sets until, and the timer. mu must be held.
func (l *link) trust() {
	if !l.vouched {
		return
	}
	left := plus(plus(l.asOf, int64(l.maxLag)/4*3), -l.now())
	if left <= 0 || l.exact {
		l.until.Store(l.end())
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
	l.trust()
}

// lag returns the age of the moment for which the source has vouched, and the age that it had when
// the source did so; false if the source never has.
func (l *link) lag() (lag, behind time.Duration, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(-plus(l.asOf, -l.now())), time.Duration(l.behind), l.asOf != never
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

// A latest is the latest of the times, by the clock of a link, that were noted.
type latest struct{ atomic.Int64 }

func (l *latest) note(at int64) {
	for {
		before := l.Load()
		if before >= at || l.CompareAndSwap(before, at) {
			return
		}
	}
}
