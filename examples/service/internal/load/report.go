package load

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// report writes a line about each interval.
type report struct {
	out   io.Writer
	stats func() stats.Snapshot
	every time.Duration

	mu               sync.Mutex
	interval         interval
	requests, failed int // of the whole run
}

// An interval is the time between two lines.
type interval struct {
	begin     time.Time
	before    stats.Snapshot  // at begin
	took      []time.Duration // of each request
	failures  int
	lastError error
}

func newReport(c Config) *report {
	every := c.Every
	if every == 0 {
		every = 5 * time.Second
	}
	return &report{out: c.Out, stats: c.Stats, every: every, interval: interval{begin: time.Now(), before: c.Stats()}}
}

func (r *report) add(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.interval.took = append(r.interval.took, took)
	if err != nil {
		r.failed++
		r.interval.failures++
		r.interval.lastError = err
	}
}

// run writes lines until ctx ends.
func (r *report) run(ctx context.Context) {
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			now, after := time.Now(), r.stats()
			r.mu.Lock()
			ended := r.interval
			r.interval = interval{begin: now, before: after}
			r.mu.Unlock()
			_, _ = fmt.Fprintln(r.out, ended.line(now, after)) // the load goes on even if nobody reads the report
		case <-ctx.Done():
			return
		}
	}
}

// line describes an interval that ends now.
func (i *interval) line(now time.Time, after stats.Snapshot) string {
	users := after.Minus(i.before)
	slices.Sort(i.took)
	line := fmt.Sprintf("%s  load: %d requests, %.0f/s, hit ratio %.1f %%, p50 %v, p99 %v",
		now.Format(time.TimeOnly), len(i.took), float64(len(i.took))/now.Sub(i.begin).Seconds(), 100*users.HitRatio(),
		quantile(i.took, 0.50), quantile(i.took, 0.99))
	if users.HitsInGrace > 0 {
		line += fmt.Sprintf(", %.1f %% of the hits in grace", 100*float64(users.HitsInGrace)/float64(users.Hits))
	}
	if i.failures > 0 {
		line += fmt.Sprintf(", %d failed (%v)", i.failures, i.lastError)
	}
	return line
}

// quantile returns the q-quantile of sorted durations, rounded to microseconds.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))].Round(time.Microsecond)
}
