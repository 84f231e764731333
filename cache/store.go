package cache

// An update is a value to store for a key, with everything computed before the shard is
// locked. To store it, lock the shard, call put and then endStore, and begin again as long
// as room is missing:
//
//	for done := false; !done; {
//		s := c.lock(u.hash)
//		done = c.endStore(s, &u, s.put(&u))
//	}
//	c.settle(u.reported)
//
// Conditions of the store are checked before put, every time. If u is not to be stored any
// more, call abandon.
type update[K comparable, V any] struct {
	hash   uint64
	key    K
	value  V
	weight uint32
	life   life

	reserved uint64 // of the budget, by evictions for this value
	making   bool   // its storer makes room, and holds budget.making
	reported bool   // events were queued: settle must follow
}

// endStore ends an attempt to store u in s, which is locked: it unlocks s and makes the
// room that is missing by evictions in other shards. It returns done if nothing was
// missing.
func (c *Cache[K, V]) endStore(s *shard[K, V], u *update[K, V], missing uint64) (done bool) {
	u.reported = s.unlock() || u.reported
	if missing > 0 {
		c.makeRoom(u, missing)
		return false
	}
	if u.making {
		c.abandon(u) // what was reserved too much
	}
	return true
}

// put stores a value and makes the loads of its key stale. If there is too little
// room in the cache, and nothing left to evict in this shard, it stores nothing and
// returns how much is missing.
func (s *shard[K, V]) put(u *update[K, V]) (missing uint64) {
	i, found := s.find(u.hash, u.key)
	return s.putAt(i, found, u)
}

// putAt is put for a key that has entry i if found.
func (s *shard[K, V]) putAt(i uint32, found bool, u *update[K, V]) (missing uint64) {
	s.breakFences(u.key)
	return s.storeAt(i, found, u)
}

// store is put, but leaves loads of the key alone.
func (s *shard[K, V]) store(u *update[K, V]) (missing uint64) {
	i, found := s.find(u.hash, u.key)
	return s.storeAt(i, found, u)
}

// storeAt is store for a key that has entry i if found.
func (s *shard[K, V]) storeAt(i uint32, found bool, u *update[K, V]) (missing uint64) {
	if s.closed || !s.common.hasher.Reflexive(u.key) {
		return 0
	}
	if found && !s.common.clock.far(s.entries[i].deadline.load()) && s.gone(i) {
		s.remove(i, u.hash, Expired)
		found = false
	}
	if s.common.weigh != nil {
		return s.putWeighed(i, found, u)
	}
	switch {
	case found:
		s.replace(i, u)
	case s.limited && u.reserved > 0:
		u.reserved--
		i = s.insert(u)
	case s.limited && !s.common.budget.reserve(1):
		if s.len == 0 {
			return 1
		}
		i = s.takeOver(u)
	default:
		i = s.insert(u)
	}
	s.begin(i, u)
	return 0
}

// begin begins the life of the value that entry i was given.
func (s *shard[K, V]) begin(i uint32, u *update[K, V]) {
	s.setLife(i, u.life)
	if s.noted {
		s.note(i, u)
	}
}

// note tells those who keep account of it that entry i has a new value.
func (s *shard[K, V]) note(i uint32, u *update[K, V]) {
	if s.born != nil {
		s.born[i] = s.common.clock.moment()
	}
	s.common.stored(u)
}

// insert gives a key that has no entry one, without a deadline. Its weight is
// reserved.
func (s *shard[K, V]) insert(u *update[K, V]) uint32 {
	i := s.takeSlot()
	e := &s.entries[i]
	e.key, e.value = u.key, u.value
	s.index.Insert(u.hash, i)
	s.lost.forget(u.hash)
	if u.weight > 0 {
		s.enlist(i, u.hash)
	}
	return i
}

// takeSlot returns a slot that was free, for an entry without a deadline.
func (s *shard[K, V]) takeSlot() uint32 {
	if s.len == len(s.entries) {
		s.grow()
	}
	i := s.free
	s.free = s.afterFree(i)
	s.entries[i].deadline.set(never)
	s.len++
	return i
}

// replace changes the value of entry i, which has not expired or is in Grace.
func (s *shard[K, V]) replace(i uint32, u *update[K, V]) {
	e := &s.entries[i]
	s.countRemoval(u.hash, e, Replaced)
	e.value = u.value
	s.use(i)
}

// putWeighed is put in a cache that weighs its values, where i is the entry of the
// key if found.
func (s *shard[K, V]) putWeighed(i uint32, found bool, u *update[K, V]) (missing uint64) {
	if uint64(u.weight) > s.common.budget.max.Load() {
		s.refuse(i, found, u)
		return 0
	}
	if missing := s.reserveFor(i, found, u); missing > 0 {
		return missing
	}
	if found {
		s.replace(i, u)
		s.reweigh(i, u)
	} else {
		i = s.insert(u)
		s.weights[i] = u.weight
	}
	s.begin(i, u)
	s.maybeShrink() // one heavy value can evict many
	return 0
}

// reweigh gives entry i another weight. The order has it only while that is not 0.
func (s *shard[K, V]) reweigh(i uint32, u *update[K, V]) {
	old := s.weights[i]
	s.weights[i] = u.weight
	if old == 0 && u.weight > 0 {
		s.enlist(i, u.hash)
	} else if old > 0 && u.weight == 0 {
		s.delist(i, u.hash, Replaced)
	}
}

// refuse is put of a value that is heavier than the whole cache may be: it
// replaces the old value, which is entry i if found, and is evicted itself.
func (s *shard[K, V]) refuse(i uint32, found bool, u *update[K, V]) {
	if found {
		s.remove(i, u.hash, Replaced)
	}
	s.countRemoval(u.hash, &entry[K, V]{key: u.key, value: u.value}, Evicted)
}
