package gozero

import (
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// statInterval is the interval of the log lines of go-zero's own caches.
const statInterval = time.Minute

// process logs the caches of the process.
var process = new(statLog)

// LogStats logs a line for every cache of the process each minute, at level stat and
// in the format of go-zero's own caches:
//
//	cache(users) - qpm: 1200, hit_ratio: 97.5%, elements: 9100, hit: 1170, miss: 30
//
// The numbers are those of the last minute or, for a cache made within it, since it
// was made, even if it has the name of one that was closed. There is no line for a
// cache without traffic, nor for the minute in which a cache is closed. [NewCache]
// calls LogStats; a program that makes its caches by package cache or
// gozero/collection calls it after it has made them. While lines are logged, calling
// it again does nothing. It is safe for concurrent use.
//
// There is no goroutine between the lines. The lines end when the process has no cache
// any more, and begin again with the next call.
func LogStats() { process.start() }

// A statLog logs what the caches did each minute. The zero statLog does not run.
type statLog struct {
	mu      sync.Mutex                  // not held during stats.Caches, which takes locks of the caches
	running bool                        // a timer is set, or its tick runs
	starts  int                         // calls of start
	last    map[string]stats.NamedCache // all caches, by name, at the last tick
}

func (l *statLog) start() {
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
func (l *statLog) tick() {
	for _, c := range l.minute() {
		s := c.Snapshot
		logx.Statf("cache(%s) - qpm: %d, hit_ratio: %.1f%%, elements: %d, hit: %d, miss: %d",
			c.Name, s.Gets(), 100*s.HitRatio(), s.Entries, s.Hits, s.Misses)
	}
}

// minute returns what the caches with traffic did since the last tick, and sets the
// timer for the next. If a cache is made meanwhile, either stats.Caches returns it or
// starts has changed, so the log goes on.
func (l *statLog) minute() (busy []stats.NamedCache) {
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
func (l *statLog) keep(all []stats.NamedCache) (before map[string]stats.NamedCache) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.last
	l.last = make(map[string]stats.NamedCache, len(all))
	for _, c := range all {
		l.last[c.Name] = c
	}
	return before
}
