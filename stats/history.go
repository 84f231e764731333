package stats

import (
	"iter"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	interval      = 5 * time.Second // between samples
	historyPoints = 60              // kept, unless there are very many histories

	// historyBytes bounds the histories of all caches together, and those of all timing wheels.
	// If there are many, each has fewer points.
	historyBytes = 52 << 20

	// gap is the greatest distance between two samples of a history. After a longer
	// one, as when the machine was suspended, the history begins anew: its windows
	// would be wrong.
	gap = 4 * interval

	// runningFrom is the age from which a partial point is shown: rates over less time
	// would jump.
	runningFrom = time.Second
)

// A sample is a snapshot with its time.
type sample[S any] struct {
	at    time.Time
	stats S
}

// A history has the last samples of one source, the oldest first: one more than points, as
// a point is the difference of two samples. Neither a sample nor the slice ever changes, so both
// may be read without a lock.
type history[S any] []*sample[S]

// add adds a sample, and keeps the last most samples.
func (h *history[S]) add(s *sample[S], most int) {
	before := *h
	if n := len(before); n > 0 {
		switch since := s.at.Sub(before[n-1].at); {
		case since == 0:
			return // it would be a point of no time
		case since < 0 || since > gap:
			before = nil
		}
	}
	if most == 0 {
		*h = nil
		return
	}
	*h = slices.Concat(before[max(0, len(before)+1-most):], history[S]{s})
}

// samplesOfEach returns how many samples each of n histories may have.
func samplesOfEach[S any](n int) int {
	size := int(reflect.TypeFor[sample[S]]().Size())
	size += size/8 + 8 // what the allocator rounds up, at most; the pointer
	return min(historyPoints+1, historyBytes/size/max(n, 1))
}

// A point is what happened between two samples.
type point[S any] struct {
	start   time.Time
	length  time.Duration
	from    *S
	to      *S
	running bool // it ends with a look, and not with a sample
}

// points yields the newest n points, the oldest first. The last one is partial, if it is
// old enough.
func (l *look[S]) points(n int) iter.Seq[point[S]] {
	last := len(l.samples) - 1
	count := last
	if last >= 0 && l.at.Sub(l.samples[last].at) >= runningFrom {
		count++
	}
	return func(yield func(point[S]) bool) {
		for i := max(count-n, 0); i < count; i++ {
			a, end, to := l.samples[i], l.at, l.stats
			if i < last {
				end, to = l.samples[i+1].at, &l.samples[i+1].stats
			}
			if !yield(point[S]{a.at, end.Sub(a.at), &a.stats, to, i == last}) {
				return
			}
		}
	}
}

// window returns what happened from length before the look, or from the nearest sample, to
// the look. Its length is 0 without a sample.
func (l *look[S]) window(length time.Duration) point[S] {
	from, start, took := l.stats, l.at, time.Duration(0)
	for _, s := range slices.Backward(l.samples) {
		since := l.at.Sub(s.at)
		if took > 0 && since > length+interval/2 {
			break
		}
		if since > 0 {
			from, start, took = &s.stats, s.at, since
		}
	}
	return point[S]{start: start, length: took, from: from, to: l.stats}
}

// underLimit returns what happened in a window that begins no earlier than the last change of the
// limit. Without a history that is everything since the cache was made.
func underLimit(l *look[Snapshot], length time.Duration) point[Snapshot] {
	p := point[Snapshot]{from: l.stats, to: l.stats}
	if len(l.samples) == 0 {
		p.from = new(Snapshot)
	}
	for _, before := range slices.Backward(l.samples) {
		if before.stats.Limit != p.to.Limit || l.at.Sub(before.at) > length+interval/2 {
			break
		}
		p.from = &before.stats
	}
	return p
}

// A sampler looks at the process, and takes a sample of every source, at each interval, from the
// first call of ensure on. Between samples there is only a timer.
type sampler struct {
	mu    sync.Mutex // also held while samples are taken, so that they are in order
	last  time.Time  // when a sample was taken
	chain int        // of timers; an older one than this has ended

	sampling atomic.Bool // samples are taken; else only the process is watched
	health
}

// ensure starts the samples, or starts them again if they have ceased: a timer ends with
// the synctest bubble that it was made in, and the clock of the next bubble begins anew. A
// timer is also late after the process was stopped. With first it takes a sample at once.
func (s *sampler) ensure(first bool, sample func(now time.Time)) {
	if !s.mu.TryLock() {
		return // samples are being taken, perhaps of a source that waits for a lock of the caller
	}
	defer s.mu.Unlock()
	if since := time.Since(s.last); first || since <= 0 || since > 2*interval {
		s.chain++
		s.tick(s.chain, sample)
	}
}

// tick takes a sample and sets the timer for the next. s.mu must be held.
func (s *sampler) tick(chain int, sample func(now time.Time)) {
	s.last = time.Now()
	sample(s.last)
	due := time.Now().Add(interval)
	time.AfterFunc(interval, func() {
		s.stops.Note(due)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.chain == chain {
			s.tick(chain, sample)
		}
	})
}
