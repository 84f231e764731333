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
// made. A cache without traffic has no line. [NewCache] calls LogStats; a program
// that makes its caches by package cache or gozero/collection calls it once it has
// made them. Calling it again does nothing. It is safe for concurrent use.
//
// There is no goroutine between the lines. They end with a minute after which the
// process has no cache any more, and begin again with the next call.
func LogStats() { process.start() }

// A statLog logs what the caches did each minute. The zero statLog does not run.
type statLog struct {
	mu      sync.Mutex
	running bool                      // a timer is set, or its tick under way
	last    map[string]stats.Snapshot // of all caches, at the last tick
}

func (l *statLog) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return
	}
	l.running = true
	// What a cache did before is not of the first minute.
	l.look()
	time.AfterFunc(statInterval, l.tick)
}

// tick logs a minute, and has the next one logged unless all caches are gone.
func (l *statLog) tick() {
	for _, c := range l.minute() {
		s := c.Snapshot
		logx.Statf("cache(%s) - qpm: %d, hit_ratio: %.1f%%, elements: %d, hit: %d, miss: %d",
			c.Name, s.Gets(), 100*s.HitRatio(), s.Entries, s.Hits, s.Misses)
	}
}

// minute returns what the caches with traffic did since the last tick, and sets
// the timer of the next. It looks for caches under the lock, so that one made
// meanwhile is found here, or by a start that finds the log not running.
func (l *statLog) minute() (busy []stats.Named) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.last
	now := l.look()
	if len(now) == 0 {
		l.running = false
		return nil
	}
	time.AfterFunc(statInterval, l.tick)
	for _, c := range now {
		c.Snapshot = c.Snapshot.Minus(before[c.Name])
		if c.Snapshot.Gets() > 0 {
			busy = append(busy, c)
		}
	}
	return busy
}

// look returns what all caches have done, and keeps it for the next tick.
func (l *statLog) look() []stats.Named {
	all := stats.All()
	l.last = make(map[string]stats.Snapshot, len(all))
	for _, c := range all {
		l.last[c.Name] = c.Snapshot
	}
	return all
}
