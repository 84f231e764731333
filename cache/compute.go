package cache

import "fmt"

// An Op is what the function of a Compute wants done.
type Op uint8

const (
	OpKeep   Op = iota // leave the entry, or its absence, as it is
	OpSet              // store the value
	OpDelete           // remove the key
)

// Compute changes the value of a key in one step, as in a counter: f gets the
// value that the key has and whether it has one, and returns a value and what
// to do with it. Compute returns the value that the key has afterwards, and
// whether it has one. OpSet stores with the TTL of the options, as Set does.
//
// f runs without any lock, so it may use the cache, also this key, and may take
// its time. If somebody else changes the key meanwhile, its result is dropped
// and f is called again with the new value; likewise if room had to be made in
// another shard first. So f should have no other effects. A panic of f goes
// through, and nothing is changed. Compute panics if f is nil or returns another
// Op than those above.
//
// Compute counts as neither a hit nor a miss.
func (c *Cache[K, V]) Compute(key K, f func(old V, found bool) (V, Op)) (V, bool) {
	if f == nil {
		panic("cache: Compute with a nil function")
	}
	h := c.hasher.Hash(key)
	if c.hasher.Lost(key) {
		var none V
		f(none, false)
		return none, false // cannot be stored
	}
	s := c.shardOf(h)
	for {
		if value, ok, done := c.tryCompute(s, h, key, f); done {
			return value, ok
		}
	}
}

// tryCompute is one attempt at Compute. It reports whether the key was left
// alone meanwhile, so that the result counts.
func (c *Cache[K, V]) tryCompute(s *shard[K, V], h uint64, key K, f func(V, bool) (V, Op)) (value V, ok, done bool) {
	var mine fence
	old, found := s.lookAt(h, key, &mine)
	fenced := true
	defer func() {
		if fenced { // f panicked
			s.lock.Lock()
			s.removeFence(key, &mine)
			s.lock.Unlock()
		}
	}()
	value, op := f(old, found)
	var none V
	if op > OpDelete {
		panic(fmt.Sprintf("cache: the function of Compute returned Op %d", op))
	}
	u := update[K, V]{h, key, value, 0, forever}
	if op == OpSet {
		u.weight, u.life = c.weightOf(key, value), c.lifeOf(h, c.expireAfter)
	}
	fenced = false

	s.lock.Lock()
	held := s.removeFence(key, &mine)
	i, live := s.findLive(h, key)
	if !held || live != found {
		s.lock.Unlock()
		return value, false, false
	}
	var missing uint64
	switch op {
	case OpKeep:
		value, ok = old, found
	case OpSet:
		missing = s.put(&u)
		if _, ok = s.find(h, key); !ok { // too heavy, or the cache is closed
			value = none
		}
	case OpDelete:
		value = none
		s.breakFences(key)
		c.watch.Load().removed(h)
		if found {
			s.remove(i, h, Deleted)
			s.maybeShrink()
		}
	}
	c.settle(c.endStore(s, &u, missing))
	return value, ok, missing == 0
}

// lookAt returns the value of a key and puts a fence on it.
func (s *shard[K, V]) lookAt(h uint64, key K, f *fence) (value V, found bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.addFence(key, f)
	i, found := s.findLive(h, key)
	if found {
		value = s.entries[i].value
	}
	return value, found
}
