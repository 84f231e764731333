package load

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

const defaultEvery = 5 * time.Second

// report writes a line about each interval.
type report struct {
	out   io.Writer
	stats func() stats.Snapshot
	every time.Duration

	mu        sync.Mutex
	begin     time.Time       // of the interval
	took      []time.Duration // of each request of the interval
	failures  int             // in the interval
	lastError error
	before    stats.Snapshot // at begin

	requests, failed int // of the whole run
}

func newReport(c Config) *report {
	r := &report{out: c.Out, stats: c.Stats, every: c.Every, begin: time.Now(), before: c.Stats()}
	if r.every == 0 {
		r.every = defaultEvery
	}
	return r
}

func (r *report) add(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.took = append(r.took, took)
	if err != nil {
		r.failed++
		r.failures++
		r.lastError = err
	}
}

// start starts writing lines. The function it returns stops that and waits.
func (r *report) start() (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(r.every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.write()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-stopped }
}

// write writes the line of the interval that ends now and begins the next one.
func (r *report) write() {
	now, after := time.Now(), r.stats()
	r.mu.Lock()
	took, failures, lastError := r.took, r.failures, r.lastError
	interval, seconds := after.Minus(r.before), now.Sub(r.begin).Seconds()
	r.took, r.failures, r.lastError = make([]time.Duration, 0, len(took)), 0, nil
	r.begin, r.before = now, after
	r.mu.Unlock()

	slices.Sort(took)
	line := fmt.Sprintf("%s  load: %d requests, %.0f/s, hit ratio %.1f %%, p50 %v, p99 %v",
		now.Format(time.TimeOnly), len(took), float64(len(took))/seconds, 100*interval.HitRatio(),
		quantile(took, 0.50), quantile(took, 0.99))
	if interval.HitsInGrace > 0 {
		line += fmt.Sprintf(", %.1f %% of the hits in grace", 100*float64(interval.HitsInGrace)/float64(interval.Hits))
	}
	if failures > 0 {
		line += fmt.Sprintf(", %d failed (%v)", failures, lastError)
	}
	_, _ = fmt.Fprintln(r.out, line) // the load goes on even if nobody reads the report
}

func (r *report) totals() (requests, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests, r.failed
}

// quantile returns the q-quantile of sorted durations, rounded to microseconds.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))].Round(time.Microsecond)
}
