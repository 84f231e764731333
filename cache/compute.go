// This file has Compute: a change of a value by a function that runs without a lock.

package cache

import (
	"fmt"
	"time"
)

// An Op is what the function of Compute has done to the key.
type Op uint8

const (
	OpKeep   Op = iota // leave the entry, or its absence, as it is
	OpSet              // store the value
	OpDelete           // remove the key
)

// Compute changes the value of a key atomically, as for a counter: f gets the value of the
// key and whether it has one, and returns a value and what to do with it. Compute returns
// the value that the key has afterwards, and whether it has one. OpSet keeps the deadline
// of a key that has a value, and gives the TTL of the options to one that has none.
//
// f runs without any lock, so it may use the cache and be slow. If another caller changes
// the key meanwhile, or many other keys change, the result is dropped and f is called again
// with the new value, so f should have no other effects. If f panics, so does Compute, and
// nothing is changed. Compute panics if f is nil, if it returns an unknown Op, or if it changes the key itself
// at every call: it would be called for ever.
//
// Compute counts as neither a hit nor a miss.
func (c *Cache[K, V]) Compute(key K, f func(old V, found bool) (V, Op)) (V, bool) {
	return c.compute(computation[K, V]{key: key, ttl: c.common.time.expireAfter, keepLife: true}, f)
}

// ComputeWithExpire is [Cache.Compute], but OpSet gives the key a new TTL: 0 makes
// the value stay for ever, and with a negative one OpSet is OpDelete. Jitter applies.
func (c *Cache[K, V]) ComputeWithExpire(key K, expire time.Duration, f func(old V, found bool) (V, Op)) (V, bool) {
	return c.compute(computation[K, V]{key: key, ttl: expire}, f)
}

// compute gets its function apart: in a computation it would escape with the key, which a map of
// fences keeps.
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
		p.fenced = attempt > 0
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
	keepLife  bool   // a key that has a value keeps its deadline
	inGrace   bool   // a value in Grace counts
	goroutine uint64 // of the caller, to recognize its own changes of the key; 0 in the first attempts
	fenced    bool   // this attempt puts up a fence
}

// A guard tells whether the key of a Compute was changed since that looked at it: by a fence, or
// without one by the changes of the shard.
type guard[K comparable] struct {
	fence *fence
	of    *fences[K] // of the shard, if fence is nil
	since uint64     // changes that there were
}

// tryCompute calls the function once. It reports whether the key was left alone
// meanwhile, so that the result counts.
func (c *Cache[K, V]) tryCompute(p *computation[K, V], f func(V, bool) (V, Op)) (value V, ok, done bool) {
	old, found, g := c.common.lookAt(p)
	u, op := c.callFenced(p, f, g.fence, old, found)
	c.store(&u, func(s *shard[K, V]) (missing uint64) {
		held := s.held(p, &g)
		i, live := p.find(s)
		if done = held && live == found; !done {
			return 0
		}
		if live && p.keepLife && op == OpSet {
			u.life = s.lifeAt(i, p.hash)
		}
		ok, missing = s.apply(op, live, &u)
		if missing > 0 { // the result is as good as before, unless the key is changed
			s.guardAgain(p, &g)
		}
		return missing
	})
	switch {
	case g.fence != nil && g.fence.own:
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
		if !returned && mine != nil {
			s := c.common.lock(p.hash)
			s.removeFence(p.key, mine)
			s.lock.Unlock()
		}
	}()
	u = update[K, V]{hash: p.hash, key: p.key, life: forever}
	u.value, op = f(old, found)
	switch {
	case op > OpDelete:
		panic(fmt.Sprintf("cache: the function of Compute returned Op %d: want OpKeep, OpSet or OpDelete", op))
	case op == OpSet && p.ttl < 0:
		op = OpDelete
	case op == OpSet:
		u.weight, u.life = c.common.size.weightOf(p.key, u.value), c.common.time.lifeOf(p.hash, p.ttl)
	}
	returned = true
	return u, op
}

// apply applies the result of a Compute to a key, which has a value if live. It reports
// whether the key has one afterwards, or how much room is missing.
func (s *shard[K, V]) apply(op Op, live bool, u *update[K, V]) (ok bool, missing uint64) {
	switch op {
	case OpSet:
		missing = s.put(u)
		_, ok = s.find(u.hash, u.key) // or it was too heavy, or the cache is closed
		return ok, missing
	case OpDelete:
		s.del(u.hash, u.key)
		return false, 0
	}
	return live, 0
}

// lookAt returns the value of the key and a guard of it.
func (c *common[K, V]) lookAt(p *computation[K, V]) (value V, found bool, g guard[K]) {
	if !p.fenced {
		s, r := c.rlock(p.hash)
		if f := s.fences; f != nil && f.wary == 0 {
			g = guard[K]{of: f, since: f.changes}
			value, found = p.valueIn(s)
			s.lock.RUnlock(r)
			return value, found, g
		}
		s.lock.RUnlock(r)
	}
	g.fence = &fence{goroutine: p.goroutine}
	s := c.lock(p.hash)
	defer s.lock.Unlock()
	s.addFence(p.key, g.fence)
	s.fences.wary = max(s.fences.wary-1, 0)
	value, found = p.valueIn(s)
	return value, found, g
}

// held takes a guard off and reports whether the key was left alone.
func (s *shard[K, V]) held(p *computation[K, V], g *guard[K]) bool {
	if g.fence != nil {
		return s.removeFence(p.key, g.fence)
	}
	if s.fences != g.of { // the shard was split
		return false
	}
	held := g.of.unchanged(p.hash, g.since)
	if !held {
		g.of.wary = waryFor
	}
	return held
}

// guardAgain is for a result that there is no room for yet. The attempt to store it changed
// nothing, but is among the changes.
func (s *shard[K, V]) guardAgain(p *computation[K, V], g *guard[K]) {
	if g.fence == nil {
		g.since = s.fences.changes
		return
	}
	*g.fence = fence{}
	s.addFence(p.key, g.fence)
}

// valueIn returns the value of the key, if it has one.
func (p *computation[K, V]) valueIn(s *shard[K, V]) (value V, found bool) {
	i, found := p.find(s)
	if found {
		value = s.entries[i].value
	}
	return value, found
}

// find returns the entry of the key, if it has a value.
func (p *computation[K, V]) find(s *shard[K, V]) (i uint32, ok bool) {
	if p.inGrace {
		return s.findUsable(p.hash, p.key)
	}
	return s.findLive(p.hash, p.key)
}
