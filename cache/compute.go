// This file has Compute: a change of a value by a function that runs without a lock.

package cache

import (
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// An Op is what the function of Compute has done to the key.
type Op uint8

const (
	OpKeep   Op = iota // leave the entry, or its absence, as it is
	OpSet              // store the value
	OpDelete           // remove the key

	opExpire // make the value expire now: that of ExpireFunc
)

// Compute changes the value of a key atomically, as for a counter: f gets the value of the
// key and whether it has one, and returns a value and what to do with it. Compute returns
// the value that the key has afterwards, and whether it has one. OpSet keeps the deadline
// of a key that has a value, and gives the TTL of the options to one that has none.
//
// f runs without any lock, so it may use the cache and be slow. If another caller changes
// the key meanwhile, the result is dropped and f is called again with the new value, so f
// should have no other effects. If f panics, so does Compute, and nothing is changed. Compute
// panics if f is nil, if it returns an unknown Op, or if it changes the key itself at every
// call: it would be called for ever.
//
// Compute counts as neither a hit nor a miss.
func (c *Cache[K, V]) Compute(key K, f func(old V, found bool) (V, Op)) (V, bool) {
	return c.compute(computation[K, V]{key: key, ttl: c.common.time.expireAfter.get(), keepLife: true}, f)
}

// ComputeWithExpire is [Cache.Compute], but OpSet gives the key a new TTL: 0 makes
// the value stay for ever, and with a negative one OpSet is OpDelete. Jitter applies.
func (c *Cache[K, V]) ComputeWithExpire(key K, expire time.Duration, f func(old V, found bool) (V, Op)) (V, bool) {
	return c.compute(computation[K, V]{key: key, ttl: max(expire, -1)}, f)
}

// ComputeEntry is [Cache.Compute], but expire is the TTL of a key that has no value, as in
// [Cache.SetWithExpire], and it returns the entry that the key has afterwards. So a
// limit of calls in a window counts them, and TTL says when the window ends. Jitter applies, and Idle may
// end it earlier.
func (c *Cache[K, V]) ComputeEntry(key K, expire time.Duration, f func(old V, found bool) (V, Op)) (Entry[K, V], bool) {
	var is freshness
	value, ok := c.compute(computation[K, V]{key: key, ttl: max(expire, -1), keepLife: true, is: &is}, f)
	return c.common.entryOf(liveEntry[K, V]{key: key, value: value, freshness: is}, ok), ok
}

func (c *Cache[K, V]) compute(p computation[K, V], f func(V, bool) (V, Op)) (V, bool) {
	checkFunction(f == nil, "the function of Compute")
	if !c.common.hasher.Reflexive(p.key) {
		var none V
		f(none, false)
		return none, false // cannot be stored
	}
	p.hash = c.common.hasher.Hash(p.key)
	for attempt := 0; ; attempt++ {
		if attempt > 1 { // once or twice may be chance, or a function that does it once
			p.goroutine = goroutineID()
		}
		if value, ok, done := c.tryCompute(&p, f); done {
			return value, ok
		}
	}
}

// A computation is a call of Compute.
type computation[K comparable, V any] struct {
	hash      uint64
	key       K
	ttl       time.Duration
	keepLife  bool       // a key that has a value keeps its deadline
	is        *freshness // of the value afterwards, for ComputeEntry; else nil
	selects   bool       // of DelFunc or ExpireFunc
	inGrace   bool       // a value in Grace counts
	goroutine uint64     // of the caller, to recognize its own changes of the key; 0 in the first attempts
}

// tryCompute calls the function once. It reports whether the key was left alone
// meanwhile, so that the result counts.
func (c *Cache[K, V]) tryCompute(p *computation[K, V], f func(V, bool) (V, Op)) (value V, ok, done bool) {
	old, found, mine := c.common.lookAt(p)
	u, op := c.callFenced(p, f, mine, old, found)
	own := false
	c.store(&u, func(s *shard[K, V]) (missing uint64) {
		s.pending.fences.remove(mine)
		i, has, live := p.find(s)
		if done = !mine.broken && live == found; done {
			if live && p.keepLife && op == OpSet {
				u.life = s.lives.at(i, &s.entries[i].deadline, p.hash, &c.common.time)
			}
			if ok, missing = u.apply(s, op, i, has, live); missing > 0 {
				s.pending.fences.add(mine) // the result is as good as before, unless the key is changed
				return missing
			}
			if ok && p.is != nil {
				i, _, _ = p.find(s)
				*p.is = s.freshnessOf(i)
				p.is.deadline = clock.TimeOf(p.is.deadline) // it may have passed since
			}
		}
		own = mine.own
		s.pending.fences.spare.Store(mine)
		return 0
	})
	switch {
	case own:
		panic("cache: the function of Compute changes its own key, so it would be called for ever: return the change instead")
	case !done:
		return old, false, false
	case !ok:
		var none V
		return none, false, true
	case op == OpKeep:
		return old, true, true
	}
	return u.value, true, true
}

// callFenced calls the function of a Compute and makes an update of what it returns.
// It takes the fence off if there is a panic.
func (c *Cache[K, V]) callFenced(p *computation[K, V], f func(V, bool) (V, Op), mine *fence, old V, found bool) (u update[K, V], op Op) {
	returned := false
	defer func() {
		if !returned {
			s := c.common.lock(p.hash)
			s.pending.fences.remove(mine)
			s.lock.Unlock()
		}
	}()
	u = update[K, V]{hash: p.hash, key: p.key, life: forever}
	u.value, op = f(old, found)
	var ttl time.Duration // of a value that keeps its life it does not matter
	if op == OpSet && !(found && p.keepLife) {
		ttl = c.common.ttlOf(p.key, u.value, p.ttl)
	}
	switch {
	case op > OpDelete && !p.selects:
		panic(fmt.Sprintf("cache: the function of Compute returned Op %d: want OpKeep, OpSet or OpDelete", op))
	case op == OpSet && ttl < 0:
		op = OpDelete
	case op == OpSet:
		u.weight, u.life = c.common.size.weightOf(p.key, u.value), c.common.time.lifeOf(p.hash, ttl)
	}
	returned = true
	return u, op
}

// apply applies the result of a Compute to a key, which has entry i if has, and a value if live. It
// returns whether the key has a value afterwards, and how much room is missing.
func (u *update[K, V]) apply(s *shard[K, V], op Op, i uint32, has, live bool) (ok bool, missing uint64) {
	switch op {
	case OpSet:
		missing = u.putAt(s, i, has)
		return missing == 0 && !u.refused, missing
	case OpDelete:
		s.del(u.hash, u.key)
		return false, 0
	case opExpire:
		if live {
			s.applyTo(i, u.hash, op)
		}
	}
	return live, 0
}

// lookAt puts a fence on the key, and returns its value.
func (c *common[K, V]) lookAt(p *computation[K, V]) (value V, found bool, mine *fence) {
	s, r := c.rlock(p.hash)
	for s.pending.fences.needMoreLists() {
		s.lock.RUnlock(r)
		s = c.lock(p.hash)
		s.pending.makeFences()
		s.lock.Unlock()
		s, r = c.rlock(p.hash)
	}
	mine = s.pending.fences.put(p.hash, p.goroutine)
	i, _, found := p.find(s)
	if found {
		value = s.entries[i].value
	}
	s.lock.RUnlock(r)
	return value, found, mine
}

// find returns the entry of the key, if it has one, and whether that has a value.
func (p *computation[K, V]) find(s *shard[K, V]) (i uint32, has, live bool) {
	i, has = s.find(p.hash, p.key)
	if p.inGrace {
		return i, has, has && !s.checkGone(i)
	}
	return i, has, has && !s.checkExpired(i)
}
