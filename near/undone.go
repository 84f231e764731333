// This file has the Dels that have failed: the instance repeats them until the store has them.

package near

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

const (
	defaultRetryDel  = 10 * time.Minute
	defaultRetryKeys = 10_000

	firstRetry   = 100 * time.Millisecond
	longestRetry = time.Second
	retryAtOnce  = 500 // keys of a call
)

// undone has the keys of the store whose last Del has failed. Until it was repeated with success, the store
// may have an old value of them, so it is not asked for them. It is safe for concurrent use.
type undone struct {
	keep   time.Duration // how long a Del is repeated; negative: not at all
	most   int           // keys
	count  atomic.Int64  // of keys; while it is 0, has need not lock
	lost   atomic.Uint64 // keys that were given up
	logged atomic.Uint64 // lost when that was logged last

	mu      sync.Mutex // guards what follows, and changes of count
	keys    map[string]failedDel
	now     uint64        // the number of the last failed Del
	repeats chan struct{} // closed when the goroutine that repeats them has ended; nil without one
}

// A failedDel is that of a key.
type failedDel struct {
	number uint64    // tells it from earlier ones of the key
	at     time.Time // when it failed
}

var errUndone = fmt.Errorf("%w: a Del of the key has failed, so it may have an old value", ErrStore)

func (u *undone) has(text string) bool {
	if u.count.Load() == 0 {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	_, has := u.keys[text]
	return has
}

// add adds keys whose Del has failed. If it returns true, repeat must be called.
func (u *undone) add(texts []string) (repeat bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.keys == nil {
		u.keys = make(map[string]failedDel)
	}
	u.now++
	for _, text := range texts {
		if _, again := u.keys[text]; !again && len(u.keys) >= u.most {
			u.lost.Add(1)
			continue
		}
		u.keys[text] = failedDel{u.now, time.Now()}
	}
	u.count.Store(int64(len(u.keys)))
	if repeat = u.repeats == nil && len(u.keys) > 0; repeat {
		u.repeats = make(chan struct{})
	}
	return repeat
}

// at returns a number for removed, before a Del.
func (u *undone) at() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now
}

// removed notes that a Del has succeeded that began when at returned the number now.
func (u *undone) removed(texts []string, now uint64) {
	if u.count.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, text := range texts {
		if f, ok := u.keys[text]; ok && f.number <= now {
			delete(u.keys, text)
		}
	}
	u.count.Store(int64(len(u.keys)))
}

// left returns the keys that are still to be removed, and a number for removed.
func (u *undone) left() (texts []string, now uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.keys)), u.now
}

// giveUp gives up the keys for which a Del was repeated for long enough. now is what left has returned.
func (u *undone) giveUp(now uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for text, f := range u.keys {
		if f.number <= now && time.Since(f.at) >= u.keep {
			delete(u.keys, text)
			u.lost.Add(1)
		}
	}
	u.count.Store(int64(len(u.keys)))
}

// ends reports whether the goroutine that repeats must end: no keys are left, or the cache is closed.
func (u *undone) ends(closed bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.keys) > 0 && !closed {
		return false
	}
	close(u.repeats)
	u.repeats = nil
	return true
}

// ended returns a channel that is closed when nobody repeats.
func (u *undone) ended() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.repeats == nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return u.repeats
}

func (u *undone) addTo(o *sources.Operation) {
	o.Undone, o.Lost = int(u.count.Load()), u.lost.Load()
}

// remove removes keys from the store. Those that it could not remove are removed later.
func (c *Cache[K, V]) remove(ctx context.Context, texts ...string) error {
	return c.removeOnce(ctx, texts, func(texts []string) {
		if c.undone.keep > 0 && c.local.open.Err() == nil && c.undone.add(texts) {
			go c.repeat()
		}
		c.logLost()
	})
}

// removeOnce removes keys from the store, and calls failed for those that it could not remove, if it is not nil. If
// several servers fail, the error is that of one.
func (c *Cache[K, V]) removeOnce(ctx context.Context, texts []string, failed func(texts []string)) error {
	now := c.undone.at()
	var mu sync.Mutex
	var last error
	eachServer(&c.servers, texts, func(text string) string { return text }, func(texts []string) {
		err := c.ask(ctx, texts[0], c.traced("remove", len(texts), func(ctx context.Context) error { return c.store.Del(ctx, texts...) }))
		if err == nil {
			c.undone.removed(texts, now)
			return
		}
		if failed != nil {
			failed(texts)
		}
		mu.Lock()
		defer mu.Unlock()
		last = err
	})
	return last
}

// repeat repeats the Dels that have failed, with pauses, until there are none or the cache is closed.
func (c *Cache[K, V]) repeat() {
	pause := firstRetry
	for {
		wait(c.local.open, pause, nil)
		if c.undone.ends(c.local.open.Err() != nil) {
			return
		}
		texts, now := c.undone.left()
		if c.removeAgain(c.local.open, texts, now) {
			pause = firstRetry
		} else {
			pause = min(2*pause, longestRetry)
		}
		c.undone.giveUp(now)
		c.logLost()
	}
}

// logLost logs that keys were given up, if some were since.
func (c *Cache[K, V]) logLost() {
	f := c.local.failures
	if lost := c.undone.lost.Load(); c.undone.logged.Swap(lost) < lost {
		f.warn(&f.lost, "near: the Dels of keys were given up: they may have old values in the store until their TTL ends",
			fmt.Errorf("%d keys since the cache was made", lost))
	}
}

// removeAgain reports whether the store has removed some of the keys.
func (c *Cache[K, V]) removeAgain(ctx context.Context, texts []string, now uint64) bool {
	var some atomic.Bool
	eachServer(&c.servers, texts, func(text string) string { return text }, func(texts []string) {
		for part := range slices.Chunk(texts, retryAtOnce) {
			if !c.removePart(ctx, part, now) {
				return
			}
			some.Store(true)
		}
	})
	return some.Load()
}

// removePart reports whether a server has removed some of the keys. It may refuse one of them only.
func (c *Cache[K, V]) removePart(ctx context.Context, part []string, now uint64) (some bool) {
	err := c.ask(ctx, part[0], func(ctx context.Context) error { return c.store.Del(ctx, part...) })
	if err == nil {
		c.undone.removed(part, now)
		return true
	}
	if half := len(part) / 2; half > 0 && errors.Is(err, ErrRefused) {
		some = c.removePart(ctx, part[:half], now)
		some = c.removePart(ctx, part[half:], now) || some
	}
	return some
}

// closeUndone tries once more, after which nobody repeats, and returns an error if keys are left.
func (c *Cache[K, V]) closeUndone(ctx context.Context) error {
	if c.undone.count.Load() == 0 {
		return nil
	}
	texts, now := c.undone.left()
	c.removeAgain(ctx, texts, now)
	if n := c.undone.count.Load(); n > 0 {
		return fmt.Errorf("%w: %d keys could not be removed from it, and may have old values there", ErrStore, n)
	}
	return nil
}
