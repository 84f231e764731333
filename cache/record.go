package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/recording"
)

// leastSample is the least part of the keys that Record takes: one in so many.
const leastSample = 1 << 20

// errRecording is what a second Record gets.
var errRecording = errors.New("cache: it is being recorded already: one at a time")

// Record writes to w what is done with a sample of the keys, one in oneIn of them, until
// ctx ends or the cache is closed; then it returns nil. The program cmd/cachesim reads
// that, and says what the cache would reach with other limits and policies. 64 is a good
// oneIn for a cache of some hundred thousand entries, and 1 for one of a thousand.
//
// No key and no value leaves the process: a recording has hashes of keys, by a random
// secret that is made for each recording and forgotten with it, and times, weights, TTLs
// and removals. It does say which accesses were to the same key, and how many keys there
// are.
//
// While it runs, an operation takes some nanoseconds more at one key in 64, and nothing
// when it has ended. No caller of the cache waits for w: if that takes too long,
// accesses are left out, and the recording says how many. An access is written at most
// about a second after it was made.
//
// Record returns an error if oneIn is below 1 or above 1048576, if the cache is being
// recorded already, and the first error of w.
func (c *Cache[K, V]) Record(ctx context.Context, w io.Writer, oneIn int) error {
	if oneIn < 1 || oneIn > leastSample {
		return fmt.Errorf("cache: Record of one key in %d: want a number from 1, which is all, to %d", oneIn, leastSample)
	}
	if !c.recording.CompareAndSwap(false, true) {
		return errRecording
	}
	defer c.recording.Store(false)
	ctx, end := context.WithCancel(ctx)
	defer end()
	r := &record{recording.NewRecorder(uint64(oneIn)), end}
	before := c.watch.Load()
	with := new(watch[K])
	if before != nil {
		*with = *before
	}
	with.record = r
	c.setWatch(with)
	defer c.setWatch(before)
	if c.gate.closed.Load() { // Close closes the gate and then looks for a watch
		end()
	}
	return r.Run(ctx, w, c.recordingHeader(uint64(oneIn)), c.recordingCounters)
}

// setWatch puts another watch, or none, in the place of the one there is. Only the one
// Record does.
func (c *Cache[K, V]) setWatch(w *watch[K]) {
	c.watch.Store(w)
	shards := c.all()
	defer c.release()
	for i := range shards {
		s := &shards[i]
		s.lock.Lock()
		s.noted = w != nil || c.ages
		s.lock.Unlock()
	}
}

func (c *Cache[K, V]) recordingHeader(oneIn uint64) recording.Header {
	h := recording.Header{Cache: c.name, Policy: c.policy.String(), Limit: int(c.limit.Load()), OneIn: oneIn}
	if c.weigh != nil {
		h.MaxWeight = c.budget.max.Load()
	}
	return h
}

func (c *Cache[K, V]) recordingCounters() recording.Counters {
	s := c.counted()
	return recording.Counters{Hits: s.Hits, Misses: s.Misses, Sets: s.Sets, Limit: s.Limit}
}

// A record is a Recorder, and how to end its Run.
type record struct {
	*recording.Recorder
	end context.CancelFunc
}

// recordOf returns the record if it sees a key with hash h, and nil if it does not, or
// there is none, or no watch.
func (w *watch[K]) recordOf(h uint64) *record {
	if w == nil || w.record == nil || !w.record.Sees(h) {
		return nil
	}
	return w.record
}

// recordGet records a get that is about to be made.
func (c *Cache[K, V]) recordGet(r *record, h uint64, key K) {
	a := recording.Access{Op: recording.Get, Key: h}
	deadline, weight, ok := c.look(h, key)
	if ok {
		a.Hit, a.Weight, a.TTL = true, weight, c.left(deadline)
	}
	r.Add(a)
}

// recordSet records a value that is stored.
func (c *common[K, V]) recordSet(r *record, u *update[K, V]) {
	a := recording.Access{Op: recording.Set, Key: u.hash, TTL: c.left(u.life.cap)}
	if c.weigh != nil {
		a.Weight = u.weight
	}
	r.Add(a)
}

// recordTouch records another deadline for a key.
func (c *common[K, V]) recordTouch(r *record, h uint64, deadline int64) {
	r.Add(recording.Access{Op: recording.Touch, Key: h, TTL: c.left(deadline)})
}

func (r *record) removed(h uint64) { r.Add(recording.Access{Op: recording.Remove, Key: h}) }

func (r *record) cleared() { r.Add(recording.Access{Op: recording.Clear}) }

// left is until as a recording has it: 0 if there is no deadline.
func (t *timing) left(deadline int64) time.Duration {
	if deadline == never {
		return 0
	}
	return t.until(deadline)
}
