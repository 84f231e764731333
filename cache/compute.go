// This file changes a value by a function that runs outside the lock: Compute.

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
// the key meanwhile, the result is dropped and f is called again with the new value, so f
// should have no other effects. If f panics, so does Compute, and nothing is changed.
// Compute panics if f is nil, if it returns an unknown Op, or if it changes the key itself
// at every call: it would be called for ever.
//
// Compute counts as neither a hit nor a miss.
func (c *Cache[K, V]) Compute(key K, f func(old V, found bool) (V, Op)) (V, bool) {
	p := computation[K, V]{key: key, ttl: c.shared.timing.expireAfter, keepLife: true}
	return c.compute(&p, f)
}

// ComputeWithExpire is [Cache.Compute], but OpSet gives the key a new TTL: 0 makes
// the value stay for ever, and with a negative one OpSet is OpDelete. Jitter applies.
func (c *Cache[K, V]) ComputeWithExpire(key K, expire time.Duration, f func(old V, found bool) (V, Op)) (V, bool) {
	p := computation[K, V]{key: key, ttl: expire}
	return c.compute(&p, f)
}

// ComputeEntry is [Cache.Compute] with a TTL of its own for a key that has no value, and returns
// what the key has afterwards with the time that it has left: so a counter is that of a window
// of time, which begins with the first call. With 0 a new value stays for ever; with a negative
// TTL it is not stored. A key that has a value keeps its deadline. Jitter applies.
func (c *Cache[K, V]) ComputeEntry(key K, expire time.Duration, f func(old V, found bool) (V, Op)) (Entry[K, V], bool) {
	p := computation[K, V]{key: key, ttl: expire, keepLife: true}
	value, ok := c.compute(&p, f)
	if !ok {
		return Entry[K, V]{Key: key}, false
	}
	return c.shared.entryOf(key, value, p.about), true
}

func (c *Cache[K, V]) compute(p *computation[K, V], f func(V, bool) (V, Op)) (V, bool) {
	if f == nil {
		panic("cache: the function of Compute is nil: want one")
	}
	if !c.shared.hasher.Reflexive(p.key) {
		var none V
		f(none, false)
		return none, false // cannot be stored
	}
	p.hash = c.shared.hasher.Hash(p.key)
	for attempt := 0; ; attempt++ {
		if attempt > 1 { // once or twice may be chance, or a function that does it once
			p.goroutine = goroutineID()
		}
		if value, ok, done := c.tryCompute(p, f); done {
			return value, ok
		}
	}
}

// A computation is a call of Compute, without its function: that would be allocated at each call,
// as what is beside it is kept.
type computation[K comparable, V any] struct {
	hash      uint64
	key       K
	ttl       time.Duration
	keepLife  bool   // a key that has a value keeps its deadline
	inGrace   bool   // a value in Grace counts
	ticket    uint64 // of its fence
	about     about  // of the value that the key has afterwards
	slot      uint32 // the entry that had the key, if it had one
	weight    uint32 // of the result
	life      life   // of the result, unless it keeps that of the key
	goroutine uint64 // of the caller, to recognize its own changes of the key; 0 in the first attempts
}

// tryCompute calls the function once. It reports whether the key was left alone
// meanwhile, so that the result counts.
func (c *Cache[K, V]) tryCompute(p *computation[K, V], f func(V, bool) (V, Op)) (value V, ok, done bool) {
	var none V
	old, found := c.shared.lookAt(p)
	value, op := c.callFenced(p, f, old, found)
	if op == OpKeep {
		value = old
	}
	switch {
	case found && p.keepLife && op != OpDelete:
		if c.shared.finish(p, op, value) {
			return value, true, true
		}
	case found || op != OpSet:
		if done, owed := c.shared.finishOther(p, op, value, found); done {
			c.shared.observers.settle(owed)
			if ok = found && op != OpDelete; !ok {
				value = none
			}
			return value, ok, true
		}
	}
	return c.finishSlow(p, op, value, found)
}

// finishSlow is the rest of tryCompute if finish has refused. found says whether the function was
// told that the key has a value.
func (c *Cache[K, V]) finishSlow(p *computation[K, V], op Op, value V, found bool) (_ V, ok, done bool) {
	u := update[K, V]{hash: p.hash, key: p.key, value: value, weight: p.weight, life: p.life}
	var f fence[K]
	done = c.shared.storeBy(&u, func(s *shard[K, V]) (missing uint64, giveUp bool) {
		f = s.removeFence(p.ticket)
		i, live := p.find(s)
		if f.broken || live != found {
			return 0, true
		}
		if ok, missing = s.apply(p, op, i, live, &u); missing > 0 {
			p.ticket = s.addFence(p.hash, p.key, 0) // the result is as good as before, unless the key is changed
		}
		return missing, false
	})
	c.shared.observers.settle(u.owed)
	if f.own {
		panic("cache: the function of Compute changes its own key, so it would be called for ever: return the change instead")
	}
	if !ok {
		var none V
		value = none
	}
	return value, ok, done
}

// lookAt returns the value of the key and puts a fence on it.
func (c *shared[K, V]) lookAt(p *computation[K, V]) (value V, found bool) {
	s := c.lock(p.hash)
	p.ticket = s.addFence(p.hash, p.key, p.goroutine)
	if p.slot, found = p.find(s); found {
		value = s.entries[p.slot].value
	}
	s.lock.Unlock()
	return value, found
}

// find returns the entry of the key, if it has a value.
func (p *computation[K, V]) find(s *shard[K, V]) (i uint32, ok bool) {
	if p.inGrace {
		return s.findUsable(p.hash, p.key)
	}
	return s.findLive(p.hash, p.key)
}

// finish ends a Compute that leaves the entry where it was, with its deadline, and keeps its value or
// only replaces it: the usual case, in a short way. It returns false, and changes nothing, if that
// affects more: see overwrite.
func (c *shared[K, V]) finish(p *computation[K, V], op Op, value V) (done bool) {
	s := c.lock(p.hash)
	if s.onlyFence(p.ticket) && s.isAt(p.slot, p.key) {
		if done = op == OpKeep || s.keepsWeight(p) && c.plain && !s.noted && len(s.loads) == 0; done {
			s.popFence()
			e := &s.entries[p.slot]
			p.about = s.about(p.slot)
			if op == OpSet {
				e.value = value
				s.use(p.slot)
				s.removals[Replaced-Expired]++
			}
		}
	}
	s.lock.Unlock()
	return done
}

// onlyFence reports whether the shard has one fence, that with a ticket, and it is not broken.
func (s *shard[K, V]) onlyFence(ticket uint64) bool {
	return s.fenced == 1 && s.fences.list[0].ticket == ticket && !s.fences.list[0].broken
}

// isAt reports whether entry i is that of a key, and far from its deadline.
func (s *shard[K, V]) isAt(i uint32, key K) bool {
	return int(i) < len(s.entries) && s.entries[i].key == key && s.shared.timing.clock.far(s.entries[i].deadline.load())
}

// keepsWeight reports whether the result of a Compute weighs as much as what it replaces.
func (s *shard[K, V]) keepsWeight(p *computation[K, V]) bool {
	return s.weights == nil || s.weights[p.slot] == p.weight
}

// finishOther is finish for the other short ways: nothing was found, and that stays; the entry, or
// what there is of its key besides, is removed; or the entry gets a new deadline, too. If it is
// done, settle must follow.
func (c *shared[K, V]) finishOther(p *computation[K, V], op Op, value V, found bool) (done bool, owed debt[K, V]) {
	s := c.lock(p.hash)
	if s.onlyFence(p.ticket) && (!found || s.isAt(p.slot, p.key)) {
		f := s.fences.list[0]
		s.popFence()
		switch done = true; op {
		case OpDelete:
			s.del(p.hash, p.key)
		case OpSet:
			if done = s.keepsWeight(p) && c.plain && s.overwrite(p.slot, value, p.life.deadline); done {
				p.about = s.about(p.slot)
			} else {
				s.putFence(f)
			}
		}
	}
	s.unlock(&owed)
	return done, owed
}

// callFenced calls the function of a Compute, and computes what its result needs.
// It takes the fence off if there is a panic.
func (c *Cache[K, V]) callFenced(p *computation[K, V], f func(V, bool) (V, Op), old V, found bool) (value V, op Op) {
	returned := false
	defer func() {
		if !returned {
			s := c.shared.lock(p.hash)
			s.removeFence(p.ticket)
			s.lock.Unlock()
		}
	}()
	value, op = f(old, found)
	switch {
	case op > OpDelete:
		panic(fmt.Sprintf("cache: the function of Compute returned Op %d: want OpKeep, OpSet or OpDelete", op))
	case op == OpSet && p.ttl < 0 && !(found && p.keepLife):
		op = OpDelete
	case op == OpSet:
		p.weight = c.shared.sizing.weightOf(p.key, value)
		if !found || !p.keepLife {
			p.life = c.shared.timing.lifeOf(p.hash, p.ttl, true)
		}
	}
	returned = true
	return value, op
}

// apply applies the result of a Compute to its key, which has a value, entry i, if live. It
// reports whether the key has one afterwards, or how much room is missing.
func (s *shard[K, V]) apply(p *computation[K, V], op Op, i uint32, live bool, u *update[K, V]) (ok bool, missing uint64) {
	switch op {
	case OpDelete:
		s.del(u.hash, u.key)
		return false, 0
	case OpKeep:
		ok = live
	default:
		if live && p.keepLife {
			u.life = s.lifeAt(i, p.hash)
		}
		missing = s.put(u)
		i, ok = s.find(u.hash, u.key) // or it was too heavy, or the cache is closed
	}
	if ok {
		p.about = s.about(i)
	}
	return ok, missing
}
