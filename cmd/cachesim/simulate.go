package main

import (
	"context"
	"math"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// counts are the results of a replay.
type counts struct {
	gets, hits         uint64
	bytes, bytesInHits uint64 // of the gets, if sizes are known
}

// A counter counts the gets of a replay.
type counter struct {
	counts
	seen []bool // by key; nil if the trace is no recording
}

// count counts access i if it is a get. In a recording the first get of a key does not
// count if it was a hit: the key was stored before, and a replay cannot know when.
func (c *counter) count(t *trace, i int, hit bool) {
	if t.hits != nil {
		if c.seen == nil {
			c.seen = make([]bool, len(t.hashes))
		}
		id := t.ids[i]
		first := !c.seen[id]
		c.seen[id] = true
		if first && t.hits[i] {
			return
		}
	}
	if !at(t.ops, i).get() {
		return
	}
	c.gets++
	size := uint64(at(t.sizes, i))
	c.bytes += size
	if hit {
		c.hits++
		c.bytesInHits += size
	}
}

// A player replays a trace through a cache of the library, with its policy, shards, budget
// and hash. Only the time is that of the trace: the player removes what expires, as the
// cache's timing wheel would.
type player struct {
	trace     *trace
	cache     *cache.Cache[uint32, uint32] // sizes by the ids of keys
	deadlines []time.Duration              // by id; nil if nothing expires
	ring      *ring.Ring                   // with the ids as tasks
}

const (
	// slots and wheelTick are those of the player's wheel. A cache's tick is 10 ms to
	// 1 s; the difference does not affect hits, as an expired entry is no hit.
	slots     = 512
	wheelTick = 100 * time.Millisecond
)

// simulateCache replays a trace through a cache with a limit in entries or in bytes; 0
// means none.
func simulateCache(t *trace, policy cache.Policy, limit uint64, inBytes, ttls bool) (counts, error) {
	o := cache.Options[uint32, uint32]{Name: "cachesim", Policy: policy, Limit: int(limit)}
	if inBytes {
		o.Limit, o.MaxWeight = 0, limit
		o.Weigh = func(_, size uint32) uint32 { return size }
	}
	c, err := cache.New(o)
	if err != nil {
		return counts{}, err
	}
	defer c.Close(context.Background())
	p := player{trace: t, cache: c}
	if ttls {
		p.deadlines = make([]time.Duration, len(t.hashes))
		p.ring = ring.New(slots)
		p.ring.Resize(len(t.hashes))
	}
	return p.play(), nil
}

func (p *player) play() counts {
	var c counter
	for i, id := range p.trace.ids {
		now := at(p.trace.at, i)
		if p.ring != nil {
			p.expire(id, now)
		}
		switch at(p.trace.ops, i) {
		case opRead:
			_, hit := p.cache.Get(id)
			c.count(p.trace, i, hit)
			if !hit {
				p.store(i, id, now)
			}
		case opLook:
			// If the program stores the key now, that marks the entry: do not mark it twice.
			_, hit := p.cache.Peek(id)
			c.count(p.trace, i, hit)
		case opStore:
			c.count(p.trace, i, false)
			p.store(i, id, now)
		case opTouch:
			if p.cache.Touch(id, 0) {
				p.extend(i, id, now)
			}
		case opRemove:
			p.cache.Del(id)
		case opClear:
			p.cache.Clear()
		}
	}
	return c.counts
}

// store stores the key of access i.
func (p *player) store(i int, id uint32, now time.Duration) {
	p.cache.Set(id, at(p.trace.sizes, i))
	p.extend(i, id, now)
}

// extend gives a key the TTL of access i.
func (p *player) extend(i int, id uint32, now time.Duration) {
	if p.ring == nil {
		return
	}
	d := deadline(now, at(p.trace.ttls, i))
	p.deadlines[id] = d
	if d == math.MaxInt64 {
		p.ring.Remove(id)
		return
	}
	p.ring.Set(id, int64((d-1)/wheelTick+1))
}

// deadline returns when a value that is stored now expires.
func deadline(now, ttl time.Duration) time.Duration {
	if d := now + ttl; ttl > 0 && d > now {
		return d
	}
	return math.MaxInt64
}

// expire removes what has expired, as the wheel of a cache does, and the key that is about
// to be read, if it has expired, as a read does.
func (p *player) expire(id uint32, now time.Duration) {
	p.ring.Advance(int64(now/wheelTick), math.MaxInt, func(i uint32) (again int64) {
		p.cache.Del(i)
		return 0
	})
	if d := p.deadlines[id]; d != 0 && d <= now {
		p.cache.Del(id)
	}
}
