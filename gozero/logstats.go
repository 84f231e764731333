package gozero

import (
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// statInterval is that of the log lines of go-zero's own caches.
const statInterval = time.Minute

// process logs the caches of the process.
var process = new(statLog)

// LogStats logs a line for every cache of the process each minute, of level stat
// and in the words of go-zero's own caches:
//
//	cache(users) - qpm: 1200, hit_ratio: 97.5%, elements: 9100, hit: 1170, miss: 30
//
// The numbers are those of that minute, and for a cache made within it, since it was
// made, also when it has the name of one that was closed. A cache without traffic has
// no line, nor has one for the minute in which it is closed. [NewCache] calls LogStats; a program
// that makes its caches by package cache or gozero/collection calls it once it has
// made them. Calling it again does nothing. It is safe for concurrent use.
//
// There is no goroutine between the lines. They end with a minute after which the
// process has no cache any more, and begin again with the next call.
func LogStats() { process.start() }

// A statLog logs what the caches did each minute. The zero statLog does not run.
type statLog struct {
	mu      sync.Mutex                  // not held while caches are asked: their sources may take locks
	running bool                        // a timer is set, or its tick under way
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
		// What a cache did before is not of the first minute.
		l.keep(stats.Caches())
		time.AfterFunc(statInterval, l.tick)
	}
}

// tick logs a minute, and has the next one logged unless all caches are gone.
func (l *statLog) tick() {
	for _, c := range l.minute() {
		s := c.Snapshot
		logx.Statf("cache(%s) - qpm: %d, hit_ratio: %.1f%%, elements: %d, hit: %d, miss: %d",
			c.Name, s.Gets(), 100*s.HitRatio(), s.Entries, s.Hits, s.Misses)
	}
}

// minute returns what the caches with traffic did since the last tick, and sets the
// timer of the next. A cache that is made while it looks is found, or a start has come
// since, and so the log goes on.
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

// keep keeps what all caches have done for the next tick, and returns what was kept.
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
