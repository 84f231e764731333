package cache

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Cache keeps values by key, up to a limit and for a limited time. Make one with [New].
// All its methods are safe for concurrent use, and none holds a lock while it calls a
// function of the program.
type Cache[K comparable, V any] struct {
	common common[K, V]

	resizing  sync.Mutex  // one Resize at a time, so that the shards agree
	name      string      // in the statistics
	recording atomic.Bool // by Record: one at a time
	gate      gate

	loadsOK, loadsFailed stats.DurationRecorder
	lastFailed           atomic.Pointer[failure]
	waiters              atomic.Uint64
	amend                func(*stats.Snapshot) // or nil
	schema               string                // of snapshots
	saving               *semaphore.Weighted   // one SaveFile at a time
	unregister           func()
}

// New returns an empty cache. An error wraps [ErrArgument] and says everything that is
// wrong with the options.
//
// A cache has no goroutine while nothing expires, and no load and no call of OnRemove
// runs. A cache that nobody holds any more is collected, whether or
// not it was closed; one with OnRemove, after OnRemove was called for all entries that
// wait to expire.
//
// A cache that is used in a bubble of testing/synctest must be made in it. One that was made
// outside panics there instead of storing what would never expire.
func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := build(o)
	c.register(o)
	return c, nil
}

// build is New without a check of the options, and without the statistics.
func build[K comparable, V any](o Options[K, V]) *Cache[K, V] {
	c := &Cache[K, V]{saving: semaphore.NewWeighted(1), unregister: func() {}, common: common[K, V]{
		hasher: hash.New[K](),
		weigh:  o.Weigh,
		policy: o.Policy,
		ages:   o.Ages,

		negative: o.Negative,
	}}
	if o.Negative != nil {
		c.common.negatives = newKeptErrors(o.Limit, o.Jitter)
	}
	c.common.watch.Store(newWatch(o))
	c.common.timeout = o.Timeout
	c.common.permits.init(o.MaxLoads)
	c.common.timing.init(o.Expire, o.Idle, o.Jitter)
	c.common.refresh, c.common.grace, c.common.patience = o.Refresh, o.Grace, o.Patience
	c.common.renews = o.Refresh > 0 || o.Grace > 0
	c.common.budget.max.Store(max(o.MaxWeight, uint64(o.Limit)))
	c.common.limit.Store(int64(o.Limit))
	c.gate.init()
	if c.common.onPanic = o.OnPanic; c.common.onPanic == nil {
		c.common.onPanic = logPanic
	}
	c.initDriver(o.OnRemove != nil)
	c.initTable(1)
	if o.OnRemove != nil {
		c.common.runner = newRunner(o, c.common.onPanic)
	}
	c.schema, c.amend = o.Schema, o.Amend
	c.common.simple = c.common.weigh == nil && c.common.idle == 0 && !c.common.renews && c.common.runner == nil && c.common.negatives == nil
	return c
}

// Must is [New] for options that are known to be valid: it panics where New returns an
// error.
func Must[K comparable, V any](o Options[K, V]) *Cache[K, V] {
	c, err := New(o)
	if err != nil {
		panic(err)
	}
	return c
}

// initTable makes the first table, of n shards.
func (c *Cache[K, V]) initTable(n int) {
	t := c.common.newTable(n)
	for i := range t.shards {
		s := &t.shards[i]
		s.noted = c.common.watch.Load() != nil || c.common.ages
		s.setLimited(c.common.budget.max.Load() > 0)
	}
	c.common.table.Store(t)
}

// newRunner returns the runner that calls OnRemove.
func newRunner[K comparable, V any](o Options[K, V], onPanic func(any, []byte)) *runner.Runner[Event[K, V]] {
	workers := o.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return runner.New(workers, backlog, o.OnRemove, onPanic)
}

// Get returns the value of a key and true, or false if the cache does not have one or its
// deadline has passed.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	h, hashed := c.common.hasher.Word(key)
	if !hashed {
		h = c.common.hasher.Hash(key)
	}
	if w := c.common.watch.Load(); w != nil {
		c.asked(w, h, key)
	}
	s := c.common.shardOf(h)
	r := s.lock.RLock()
	var i uint32
	home := s.index.Home(h) // find, inlined
	m := home.Match(h)
	for ; m != 0; m = m.Next() {
		if i = home.Slot(m); s.entries[i].key == key {
			break
		}
	}
	if m == 0 {
		var found bool
		if s, r, i, found = c.getFar(s, r, h, key); !found {
			return value, false
		}
	}
	e := &s.entries[i]
	if !c.common.clock.far(e.deadline.load()) && s.die(i) || c.common.idle > 0 && !s.slide(i, h) { // expired, inlined
		s.missesExpired.Add(1)
		s.lock.RUnlockMiss(r)
		return value, false
	}
	value = e.value
	if s.marks != nil {
		s.marks.Mark(i)
	}
	s.lock.RUnlockHit(r)
	return value, true
}

// getFar is the rest of the search of Get for a key that is not in its home group. If it is
// not found, that is counted, and the lock given back.
func (c *Cache[K, V]) getFar(s *shard[K, V], r biased.Reader, h uint64, key K) (*shard[K, V], biased.Reader, uint32, bool) {
	i, found := s.find(h, key)
	for !found {
		if !s.split {
			s.missed(h)
			s.lock.RUnlockMiss(r)
			return s, r, 0, false
		}
		s.lock.RUnlock(r)
		s = s.moved.of(h)
		r = s.lock.RLock()
		i, found = s.find(h, key)
	}
	return s, r, i, true
}

// Peek is [Cache.Get], but it is not counted, and does not count as a use: it keeps the
// entry neither from eviction nor from expiry by Idle.
func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	h := c.common.hasher.Hash(key)
	s, r := c.common.rlock(h)
	i, ok := s.findLive(h, key)
	if ok {
		value = s.entries[i].value
	}
	s.lock.RUnlock(r)
	return value, ok
}

// Set stores a value for a key, in place of any it has, with the TTL of the options. The
// next Get finds it, unless it was evicted meanwhile. Setting a key that has a value
// counts as a use of the entry.
func (c *Cache[K, V]) Set(key K, value V) {
	c.set(key, value, c.common.expireAfter)
}

// SetWithExpire is [Cache.Set] with a TTL of its own, of any length, to which Jitter
// applies. With 0 the entry never expires, but by Idle. With a negative TTL it has expired already: the
// key is removed, as by Del, and value is not stored.
func (c *Cache[K, V]) SetWithExpire(key K, value V, expire time.Duration) {
	if expire < 0 {
		c.Del(key)
		return
	}
	c.set(key, value, expire)
}

func (c *Cache[K, V]) set(key K, value V, ttl time.Duration) {
	h, hashed := c.common.hasher.Word(key)
	if !hashed {
		h = c.common.hasher.Hash(key)
	}
	if !c.common.simple {
		c.setAny(h, key, value, ttl)
		return
	}
	deadline := c.common.deadlineFor(h, ttl)
	if deadline == never && ttl > 0 {
		c.common.clock.checked()
	}
	s := c.common.lock(h)
	i, found := s.find(h, key)
	if found && s.overwrite(i, value, deadline) {
		s.lock.Unlock()
		return
	}
	c.setIn(s, i, found, h, key, value, deadline)
}

// setIn is set in a simple cache if overwrite has refused. Shard s is locked; if found, i is
// the entry of the key.
func (c *Cache[K, V]) setIn(s *shard[K, V], i uint32, found bool, h uint64, key K, value V, deadline int64) {
	// Field by field: a literal would be made beside u and copied, which takes 9 ns.
	var u update[K, V]
	u.hash, u.key, u.value = h, key, value
	u.weight = 1
	u.life = life{deadline, deadline, never}
	for done := c.endStore(s, &u, s.putAt(i, found, &u)); !done; {
		s = c.common.lock(h)
		done = c.endStore(s, &u, s.put(&u))
	}
}

// setAny is set in a cache that is not simple.
func (c *Cache[K, V]) setAny(h uint64, key K, value V, ttl time.Duration) {
	u := update[K, V]{hash: h, key: key, value: value, weight: c.common.weightOf(key, value), life: c.common.lifeOf(h, ttl)}
	for done := false; !done; {
		s := c.common.lock(h)
		done = c.endStore(s, &u, s.put(&u))
	}
	c.common.settle(u.reported)
}

// GetOrSet returns the value of a key and true if it has one. Otherwise it stores value, as
// Set does, and returns value and false. It counts as a hit or a miss.
func (c *Cache[K, V]) GetOrSet(key K, value V) (actual V, loaded bool) {
	return c.getOrSet(key, value, c.common.expireAfter)
}

// GetOrSetWithExpire is [Cache.GetOrSet] with a TTL of its own for value, as in
// [Cache.SetWithExpire]: 0 means for ever. With a negative TTL value is returned and not
// stored.
func (c *Cache[K, V]) GetOrSetWithExpire(key K, value V, expire time.Duration) (actual V, loaded bool) {
	if expire >= 0 {
		return c.getOrSet(key, value, expire)
	}
	if actual, loaded = c.Get(key); loaded {
		return actual, true
	}
	return value, false
}

func (c *Cache[K, V]) getOrSet(key K, value V, ttl time.Duration) (actual V, loaded bool) {
	if actual, loaded = c.Get(key); loaded {
		return actual, true
	}
	h := c.common.hasher.Hash(key)
	u := update[K, V]{hash: h, key: key, value: value, weight: c.common.weightOf(key, value), life: c.common.lifeOf(h, ttl)}
	for done := false; !done; {
		s := c.common.lock(h)
		if i, found := s.findLive(h, key); found && s.useAt(i, h) {
			actual = s.entries[i].value
			s.lock.Unlock()
			c.abandon(&u)
			c.common.settle(u.reported)
			return actual, true
		}
		done = c.endStore(s, &u, s.put(&u))
	}
	c.common.settle(u.reported)
	return value, false
}

// Del removes a key and reports whether it had a value whose deadline has not passed. A
// load of the key that is under way is not stored.
func (c *Cache[K, V]) Del(key K) bool {
	h := c.common.hasher.Hash(key)
	s := c.common.lock(h)
	live := s.del(h, key)
	c.common.settle(s.unlock())
	return live
}

// Len returns the number of entries, which never exceeds the limit. It may count entries
// that expired within the last tick, or earlier if OnRemove is behind.
func (c *Cache[K, V]) Len() int {
	if c.common.limit.Load() > 0 {
		// One number, as a sum over shards that change could exceed the limit. But it
		// is not the number of entries once a Resize to no limit has begun.
		if n := c.common.budget.used.Load(); c.common.limit.Load() > 0 {
			return int(n)
		}
	}
	n := 0
	shards := c.common.all()
	defer c.common.release()
	for i := range shards {
		s := &shards[i]
		r := s.lock.RLock()
		n += s.len
		s.lock.RUnlock(r)
	}
	return n
}
