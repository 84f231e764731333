// This file has Record, which writes the accesses to a sample of the keys.

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pinwheel-cache/pinwheel/internal/recording"
)

// maxOneIn bounds the argument oneIn of Record.
const maxOneIn = 1 << 20

// errRecording is returned by a second Record at the same time.
var errRecording = errors.New("cache: another Record is running: end its context first")

// Record writes to w the accesses to a sample of the keys, one in oneIn of them, until ctx
// ends or the cache is closed; then it returns nil. The program cmd/cachesim reads a
// recording, and says which hit ratio the cache would have with other limits and policies.
// 64 is a good oneIn for a cache of some hundred thousand entries, and 1 for one of a
// thousand.
//
// No key and no value leaves the process: a recording has hashes of keys, by a random
// secret that is made for each recording and forgotten with it, and times, weights, TTLs
// and removals. It does show which accesses were to the same key, and how many keys there
// are.
//
// While Record runs with one key in 64, an operation takes some nanoseconds more;
// afterwards it costs nothing. No caller of the cache waits for w: if w is too slow,
// accesses are left out, and the recording says how many. An access is written at most
// about a second after it was made.
//
// Record returns once w has, if a call of its Write is under way when ctx ends: give a
// connection a deadline.
//
// Record returns an error if oneIn is below 1 or above 1048576, if the cache is being
// recorded already, or if w fails.
func (c *Cache[K, V]) Record(ctx context.Context, w io.Writer, oneIn int) error {
	checkContext(ctx, "Record")
	if oneIn < 1 || oneIn > maxOneIn {
		return fmt.Errorf("cache: Record of one key in %d: want a number from 1, which is all, to %d", oneIn, maxOneIn)
	}
	if !c.recording.CompareAndSwap(false, true) {
		return errRecording
	}
	defer c.recording.Store(false)
	ctx, end := context.WithCancel(ctx)
	defer end()
	r := &record{recording.NewRecorder(uint64(oneIn)), end}
	before := c.common.watch.Load()
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

// setWatch replaces the watch; nil means none. Only Record calls it, one at a time.
func (c *Cache[K, V]) setWatch(w *watch[K]) {
	c.common.watch.Store(w)
	for s := range c.common.all() {
		s.lock.Lock()
		s.noted = w != nil || c.common.ages
		s.lock.Unlock()
	}
}

func (c *Cache[K, V]) recordingHeader(oneIn uint64) recording.Header {
	h := recording.Header{Cache: c.common.loads.cache, Policy: c.common.size.policy.String(), Limit: int(c.common.size.limit.Load()), OneIn: oneIn}
	if c.common.size.weigh != nil {
		h.MaxWeight = c.common.size.budget.max.Load()
	}
	return h
}

func (c *Cache[K, V]) recordingCounters() recording.Counters {
	s := c.counted()
	return recording.Counters{Hits: s.Hits, Misses: s.Misses, Sets: s.Sets, Limit: s.Limit}
}
