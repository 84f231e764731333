// This file adds up what Stats and the page of package stats show, and registers the cache there.

package cache

import (
	"cmp"
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache/internal/keytext"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// Stats returns the counts of the cache since it was made: hits and misses add up to the
// gets, and removals and entries to the values stored. Stats reads one shard after another
// and locks none for longer than a write does. It may see a concurrent change in one shard
// and miss it in another, so it can show a few entries more than the limit.
func (c *Cache[K, V]) Stats() stats.Snapshot {
	s := c.counted()
	if o := c.owner.Load(); o != nil && o.Amend != nil {
		o.Amend(&s)
	}
	return s
}

// counted returns the counts of the cache itself, without those of its owner.
func (c *Cache[K, V]) counted() stats.Snapshot {
	total := stats.Snapshot{
		Loads: c.common.loads.stats(),
	}
	total.Limit, total.MaxWeight = c.Limit()
	if c.common.negatives != nil {
		total.Negatives = c.common.negatives.len()
	}
	total.Expiry.Lateness = stats.Histogram(c.common.observers.lateness.Histogram())
	total.EvictedAge = stats.Histogram(c.common.observers.evictedAge.Histogram())
	if w := c.common.watch.Load(); w != nil && w.shadows != nil {
		total.WhatIf = stats.WhatIf(w.shadows.Counts())
	}
	if w := c.common.watch.Load(); w != nil && w.hot != nil {
		total.HottestShare = w.hot.Hottest()
	}
	if c.common.observers.runner != nil {
		total.Callbacks = stats.Callbacks{Queued: c.common.observers.runner.Queued(), Panics: c.common.observers.runner.Panics()}
		total.Callbacks.Running, total.Callbacks.Oldest = c.common.observers.runner.Running()
	}
	if c.common.size.weigh != nil {
		total.Weight = c.common.size.budget.used.Load()
	}
	c.addShards(&total)
	// Every value stored was removed or is an entry.
	total.Sets += uint64(total.Entries) - total.Restored
	return total
}

// addShards adds the counts of the shards to total.
func (c *Cache[K, V]) addShards(total *stats.Snapshot) {
	now := c.common.time.clock.Now()
	for s := range c.common.all() {
		s.lock.Lock()
		s.addTo(total)
		stuck := s.pending.any() || s.lives.behind(now, &s.common.time)
		s.lock.Unlock()
		if stuck {
			r := s.lock.RLock() // for reading: when a database or callbacks hang, this takes long
			s.pending.addTo(&total.Loads, now)
			if s.lives.behind(now, &s.common.time) {
				total.Expiry.Overdue += s.overdue(now)
			}
			s.lock.RUnlock(r)
		}
	}
}

// overdue returns how many entries have a deadline that has passed. The lock must be held,
// at least for reading.
func (s *shard[K, V]) overdue(now int64) (n int) {
	for i := range s.entries {
		if s.lives.waits(uint32(i)) && s.end(uint32(i)) <= now {
			n++
		}
	}
	return n
}

// addTo adds the counts of the shard to total. The lock must be held for writing.
func (s *shard[K, V]) addTo(total *stats.Snapshot) {
	hits, misses := s.lock.Counts()
	total.Hits += hits
	total.Misses += misses
	s.tally.addTo(total)
	total.Entries += s.slots.len
	for _, n := range s.removals {
		total.Sets += n
	}
	removed := func(cause Cause) uint64 { return s.removals[cause-Expired] }
	total.Removals.Expired += removed(Expired)
	total.Removals.Evicted += removed(Evicted)
	total.Removals.Deleted += removed(Deleted)
	total.Removals.Replaced += removed(Replaced)
	total.Removals.Cleared += removed(Cleared)
	s.lives.addTo(total)
}

// register adds the cache to the statistics of the process, without keeping it alive.
func (c *Cache[K, V]) register(o Options[K, V]) {
	w := weak.Make(c)
	source := sourceOf(w)
	source.Name = o.Name
	source.Settings = settingsOf(o)
	c.common.loads.cache, c.unregister = sources.Register(source)
	runtime.AddCleanup(c, func(unregister func()) { unregister() }, c.unregister)
}

func settingsOf[K comparable, V any](o Options[K, V]) sources.Settings {
	s := sources.Settings{
		Expire: o.Expire, Idle: o.Idle, Jitter: o.Jitter, Refresh: o.Refresh, RefreshAfter: o.RefreshAfter, Grace: o.Grace, Patience: o.Patience,
		Negative: o.Negative != nil, Timeout: o.Timeout, MaxLoads: o.MaxLoads, Accept: slices.Clone(o.Accept),
	}
	if o.OnRemove != nil {
		s.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	}
	if o.Limit > 0 || o.MaxWeight > 0 || o.Elastic {
		s.Policy = o.Policy.String()
	}
	return s
}

// errGone is returned for a cache that was garbage-collected meanwhile.
var errGone = errors.New("cache: the cache was garbage-collected: keep a reference to it")

// sourceOf returns the functions by which package stats reads a cache. They do not keep the
// cache alive.
func sourceOf[K comparable, V any](w weak.Pointer[Cache[K, V]]) (source sources.Cache[stats.Snapshot]) {
	use := func(f func(c *Cache[K, V])) (alive bool) {
		c := w.Value()
		if c != nil {
			f(c)
		}
		return c != nil
	}
	source.Snapshot = func() (s stats.Snapshot, alive bool) {
		alive = use(func(c *Cache[K, V]) { s = c.Stats() })
		return s, alive
	}
	source.PurgeAll = func() (removed int) {
		use(func(c *Cache[K, V]) {
			removed = c.Len()
			c.Clear()
		})
		return removed
	}
	source.Operation = func() (o sources.Operation) {
		use(func(c *Cache[K, V]) {
			o = c.operation()
			o.Tuned = c.tuned()
		})
		return o
	}
	source.FailingKeys = func() (keys []sources.BadKey) {
		use(func(c *Cache[K, V]) { keys = c.failingKeys() })
		return keys
	}
	source.SlowKeys = func() (keys []sources.BadKey) {
		use(func(c *Cache[K, V]) { keys = c.slowKeys() })
		return keys
	}
	source.Tune = func(change func(*sources.Tuning)) (now sources.Tuning, alive bool, err error) {
		alive = use(func(c *Cache[K, V]) {
			var is Tuning
			is, err = c.Tune(func(t *Tuning) {
				if change != nil {
					change((*sources.Tuning)(t))
				}
			})
			now = sources.Tuning(is)
		})
		return now, alive, err
	}
	source.Failures = func() (load, store, lost *sources.Failure) {
		use(func(c *Cache[K, V]) {
			load = c.common.loads.lastFailed.Load()
			if o := c.owner.Load(); o != nil && o.Failures != nil {
				store, lost = o.Failures()
			}
		})
		return load, store, lost
	}
	source.Violation = func() (last *sources.Violation) {
		use(func(c *Cache[K, V]) {
			if o := c.owner.Load(); o != nil && o.Violation != nil {
				last = o.Violation()
			}
		})
		return last
	}
	source.PurgeFleet = func() (purge sources.PurgeFleet) {
		use(func(c *Cache[K, V]) {
			if o := c.owner.Load(); o != nil {
				purge = o.PurgeFleet
			}
		})
		return purge
	}
	source.Record = func(ctx context.Context, out io.Writer, oneIn int) error {
		err := errGone
		use(func(c *Cache[K, V]) { err = c.Record(ctx, out, oneIn) })
		return err
	}
	if watch := w.Value().common.watch.Load(); watch != nil && watch.hot != nil {
		source.HotKeys = func() (keys []sources.HotKey) {
			use(func(c *Cache[K, V]) { keys = c.hotKeysAsText() })
			return keys
		}
	}
	if reflect.TypeFor[K]().Kind() == reflect.String {
		source.PurgePrefix = func(prefix string) (removed int) {
			starts := func(key K, _ V) bool { return strings.HasPrefix(reflect.ValueOf(key).String(), prefix) }
			use(func(c *Cache[K, V]) { removed = c.DelFunc(starts) })
			return removed
		}
	}
	if parse := keytext.Parser[K](); parse != nil {
		source.Purge = func(text string) (removed int, err error) {
			key, err := parse(text)
			if err != nil {
				return 0, err
			}
			use(func(c *Cache[K, V]) {
				if c.Del(key) {
					removed = 1
				}
			})
			return removed, nil
		}
	}
	return source
}
