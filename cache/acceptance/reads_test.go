package acceptance

import (
	"fmt"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Promise 1: Get never returns a value past its deadline, whatever the wheel does.
// The wheel only reclaims and reports, within one tick.
//
// An entry set at t with a TTL of d is readable while now < t+d and never later, by all methods, and
// removed and reported within a tick: cache.TestModel sleeps to deadlines.
func TestPromise1ExactReads(t *testing.T) {
	// Catches: < for <=, TTLs rounded to ticks or milliseconds, a coarse clock used near the deadline.
	for _, phase := range []time.Duration{0, 1, 37 * time.Millisecond, 100*time.Millisecond - 1} {
		Bubble(t, fmt.Sprintf("at the deadline, phase %v", phase), func(t *testing.T) { exactDeadlines(t, phase) })
	}
}

func exactDeadlines(t *testing.T, phase time.Duration) {
	const ms = time.Millisecond
	ttls := []time.Duration{
		1, time.Microsecond, 500 * time.Microsecond, ms - 1, ms, ms + 1, 10*ms - 1, 10 * ms, 10*ms + 1,
		100*ms - 1, 100 * ms, 100*ms + 1, time.Second - 1, time.Second, time.Second + 1,
		25*time.Second + 600*ms, time.Minute, 5 * time.Minute, 5*time.Minute + 1, 10 * time.Minute,
	}
	c := New(t, cache.Options[string, int]{})
	time.Sleep(phase)
	start := time.Now()
	for i, ttl := range ttls {
		c.SetWithExpire(ttl.String(), i, ttl)
	}
	for i, ttl := range ttls {
		time.Sleep(time.Until(start.Add(ttl - 1)))
		for j, later := range ttls[i:] {
			WantHit(t, c, later.String(), i+j)
		}
		time.Sleep(time.Nanosecond)
		WantMiss(t, c, ttl.String())
	}
}
