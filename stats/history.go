package stats

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	interval = 5 * time.Second // between samples
	kept     = 60              // points of a history
	spare    = 12              // samples that a history has room for beyond those

	// gap is how long ago the last sample may be for the next to follow it. After a
	// longer one, as when the machine was suspended, a history begins anew: its
	// windows would claim to know what they do not.
	gap = 4 * interval

	// runningFrom is the age at which the point that is not over yet is worth to be
	// shown: rates over less would leap.
	runningFrom = time.Second
)

// A sample is what a source reported at a time.
type sample[S any] struct {
	at    time.Time
	stats S
}

// A history is the last samples of one source, the oldest first: one more than there
// are points, for a point is what happened between two samples. A sample never
// changes, and who has the slice may read it without a lock.
type history[S any] struct {
	samples []sample[S]
}

func (h *history[S]) add(s sample[S]) {
	if n := len(h.samples); n > 0 {
		switch since := s.at.Sub(h.samples[n-1].at); {
		case since == 0:
			return // it would be a point of no time
		case since < 0 || since > gap:
			h.samples = nil
		case n > kept:
			h.samples = h.samples[n-kept:]
		}
	}
	if n := len(h.samples); n == cap(h.samples) {
		h.samples = append(make([]sample[S], 0, n+spare), h.samples...)
	}
	h.samples = append(h.samples, s)
}

// A point is what happened between two samples.
type point[S any] struct {
	start   time.Time
	length  time.Duration
	from    S
	to      S
	running bool // it ends with a look, and not with a sample
}

// points yields the newest n points, the oldest first. The last one is running, if it
// has run for long enough. Samples are large, and so none is copied to the heap.
func (l look[S]) points(n int) iter.Seq[point[S]] {
	closed := max(len(l.samples)-1, 0)
	running := len(l.samples) > 0 && l.at.Sub(l.samples[closed].at) >= runningFrom
	first := closed - n
	if running {
		first++
	}
	return func(yield func(point[S]) bool) {
		for i := max(first, 0); i < closed; i++ {
			a, b := &l.samples[i], &l.samples[i+1]
			if !yield(point[S]{a.at, b.at.Sub(a.at), a.stats, b.stats, false}) {
				return
			}
		}
		if running && n > 0 {
			a := &l.samples[closed]
			yield(point[S]{a.at, l.at.Sub(a.at), a.stats, l.stats, true})
		}
	}
}

// window returns the time that ends with the look and began length before it, or as
// nearly as there is a sample. Its own length is 0 if there is none.
func (l look[S]) window(length time.Duration) point[S] {
	w := point[S]{start: l.at, from: l.stats, to: l.stats}
	for _, s := range slices.Backward(l.samples) {
		since := l.at.Sub(s.at)
		if w.length > 0 && since > length+interval/2 {
			break
		}
		if since > 0 {
			w.start, w.length, w.from = s.at, since, s.stats
		}
	}
	return w
}

// underLimit returns what a cache did in the time that ends with the look and began
// length before it, or when the limit was changed after that. Without a history that is
// all it did.
func underLimit(l look[Snapshot], length time.Duration) Snapshot {
	earlier := l.stats
	if len(l.samples) == 0 {
		earlier = Snapshot{}
	}
	for _, s := range slices.Backward(l.samples) {
		if s.stats.Limit != l.stats.Limit || l.at.Sub(s.at) > length+interval/2 {
			break
		}
		earlier = s.stats
	}
	return l.stats.Minus(earlier)
}

// A sampler takes a sample of every source at each interval, from the first time
// that ensure is called. Between samples there is only a timer.
type sampler struct {
	mu    sync.Mutex // also held while samples are taken, so that they are in order
	last  time.Time  // when a sample was taken
	chain int        // of timers; an older one than this has ended

	sampling atomic.Bool // a sample was taken
}

// ensure begins to take samples, or begins again if they have ceased. A timer ends
// with the bubble of a test that it was made in, and the clock of the next bubble
// begins where that of the last one did. It is late after the process was stopped.
func (s *sampler) ensure(sample func(now time.Time)) {
	if !s.mu.TryLock() {
		return // samples are being taken, perhaps of a source that waits for a lock of the caller
	}
	defer s.mu.Unlock()
	if since := time.Since(s.last); since <= 0 || since > 2*interval {
		s.chain++
		s.tick(s.chain, sample)
	}
}

// tick takes a sample and sees to the next. It must be called with s.mu held.
func (s *sampler) tick(chain int, sample func(now time.Time)) {
	s.last = time.Now()
	s.sampling.Store(true)
	sample(s.last)
	time.AfterFunc(interval, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.chain == chain {
			s.tick(chain, sample)
		}
	})
}
