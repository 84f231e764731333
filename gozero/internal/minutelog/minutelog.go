// Package minutelog logs a line for caches each minute, as go-zero's own caches do.
package minutelog

import (
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// statInterval is the interval of the log lines of go-zero's own caches.
const statInterval = time.Minute

// Process logs the caches of the process. Tests replace it.
var Process = new(Log)

// A Log logs what caches did each minute. The zero Log does not run. There is no goroutine
// between the lines.
type Log struct {
	mu      sync.Mutex                             // not held during stats.Caches, which takes locks of the caches
	running bool                                   // a timer is set, or its tick runs
	starts  int                                    // calls of Start
	last    map[string]stats.Named[stats.Snapshot] // all caches, by name, at the last tick
}

// Running reports whether the Log runs: it looks for traffic in a minute at the latest.
func (l *Log) Running() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// Start begins the lines for all caches of the process. They end when there is no cache
// any more. Until then Start does nothing.
func (l *Log) Start() {
	l.mu.Lock()
	l.starts++
	first := !l.running
	l.running = true
	l.mu.Unlock()
	if first {
		// The first minute leaves out what the caches did before.
		l.keep(stats.Caches())
		time.AfterFunc(statInterval, l.tick)
	}
}

// tick logs a minute, and sets the timer for the next unless all caches are gone.
func (l *Log) tick() {
	for _, c := range l.minute() {
		s := c.Snapshot
		logx.Statf("cache(%s) - qpm: %d, hit_ratio: %.1f%%, elements: %d, hit: %d, miss: %d",
			c.Name, s.Gets(), 100*s.HitRatio(), s.Entries, s.Hits, s.Misses)
	}
}

// minute returns what the caches with traffic did since the last tick, and sets the
// timer for the next. If a cache is made meanwhile, either stats.Caches returns it or
// starts has changed, so the log goes on.
func (l *Log) minute() (busy []stats.Named[stats.Snapshot]) {
	l.mu.Lock()
	starts := l.starts
	l.mu.Unlock()
	now := stats.Caches()
	before := l.keep(now)
	for _, c := range now {
		if b := before[c.Name]; b.Since.Equal(c.Since) {
			c.Snapshot = c.Snapshot.Minus(b.Snapshot)
		}
		if c.Snapshot.Gets() > 0 {
			busy = append(busy, c)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running = len(now) > 0 || l.starts != starts; l.running {
		time.AfterFunc(statInterval, l.tick)
	}
	return busy
}

// keep keeps the statistics of all caches for the next tick, and returns the previous
// ones.
func (l *Log) keep(all []stats.Named[stats.Snapshot]) (before map[string]stats.Named[stats.Snapshot]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.last
	l.last = make(map[string]stats.Named[stats.Snapshot], len(all))
	for _, c := range all {
		l.last[c.Name] = c
	}
	return before
}
