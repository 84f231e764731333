// This file stores values in a shard.

package cache

// An update is a value to store for a key, with everything that is computed before the
// shard is locked. See storeBy.
type update[K comparable, V any] struct {
	hash   uint64
	key    K
	value  V
	weight uint32
	life   life

	reserved uint64     // of the budget, by evictions for this value
	making   bool       // the caller makes room, and holds budget.making
	owed     debt[K, V] // settle must follow
}

// storeBy stores u by put, which is called with the shard of the key locked: again and again
// while room is missing, which other shards then make. If put gives up, as a condition of the
// store does not hold any more, storeBy returns false. In both cases settle must follow.
func (c *shared[K, V]) storeBy(u *update[K, V], put func(s *shard[K, V]) (missing uint64, giveUp bool)) (stored bool) {
	for {
		s := c.lock(u.hash)
		missing, giveUp := put(s)
		if giveUp {
			s.unlock(&u.owed)
			c.abandon(u)
			return false
		}
		if c.endStore(s, u, missing) {
			return true
		}
	}
}

// endStore ends an attempt to store u in s, which is locked: it unlocks s and makes missing
// room by evictions in other shards. It returns done if no room was missing.
func (c *shared[K, V]) endStore(s *shard[K, V], u *update[K, V], missing uint64) (done bool) {
	s.unlock(&u.owed)
	if missing > 0 {
		c.makeRoom(u, missing)
		return false
	}
	if u.making {
		c.abandon(u) // gives back what is still reserved
	}
	return true
}

// overwrite gives entry i another value and deadline, for a Set in a simple cache. It returns
// false, and changes nothing, if that affects more than the entry: its task, loads, fences,
// ages or the watch. It need not check closed: a closed shard is empty, or soon will be.
func (s *shard[K, V]) overwrite(i uint32, value V, deadline int64) bool {
	e := &s.entries[i]
	old, c := e.deadline.load(), s.shared
	switch {
	case !c.timing.clock.far(old), !c.timing.clock.far(deadline): // expired, or nearly
		return false
	case (old == never) != (deadline == never): // a task must be set or removed
		return false
	case s.noted, len(s.loads)+int(s.fenced) != 0:
		return false
	}
	e.value = value
	e.deadline.set(deadline)
	s.use(i)
	s.removals[Replaced-Expired]++
	if s.earlier != nil || deadline < old {
		s.markEarlier(i, old, deadline)
	}
	return true
}

// put is put of the shard, for storeBy.
func (u *update[K, V]) put(s *shard[K, V]) (missing uint64, giveUp bool) { return s.put(u), false }

// put stores a value and makes the loads of its key stale. If the cache has too little room,
// and this shard has nothing left to evict, it stores nothing and returns how much is
// missing.
func (s *shard[K, V]) put(u *update[K, V]) (missing uint64) {
	i, found := s.find(u.hash, u.key)
	return s.putAt(i, found, u)
}

// putAt is put after find: if found, i is the entry of the key.
func (s *shard[K, V]) putAt(i uint32, found bool, u *update[K, V]) (missing uint64) {
	s.breakFences(u.hash, u.key)
	return s.storeAt(i, found, u)
}

// storeAt is putAt, but does not affect loads of the key.
func (s *shard[K, V]) storeAt(i uint32, found bool, u *update[K, V]) (missing uint64) {
	if s.closed || !s.shared.hasher.Reflexive(u.key) {
		return 0
	}
	if found && !s.shared.timing.clock.far(s.entries[i].deadline.load()) && s.foundGone(i) {
		s.remove(i, u.hash, Expired)
		found = false
	}
	if s.shared.sizing.weigh != nil {
		return s.putWeighed(i, found, u)
	}
	switch {
	case found:
		s.replace(i, u)
	case s.limited && u.reserved > 0:
		u.reserved--
		i = s.insert(u)
	case s.limited && !s.shared.sizing.budget.reserve(1):
		if s.len == 0 {
			return 1
		}
		i = s.reuseSlot(u)
	default:
		i = s.insert(u)
	}
	s.beginLife(i, u)
	return 0
}

// beginLife begins the life of a value that was stored in entry i.
func (s *shard[K, V]) beginLife(i uint32, u *update[K, V]) {
	s.setLife(i, u.life)
	if s.noted {
		s.note(i, u)
	}
}

// note records that entry i has a new value: for its age, and for the watch.
func (s *shard[K, V]) note(i uint32, u *update[K, V]) {
	if s.born != nil {
		s.born[i] = s.shared.timing.clock.moment()
	}
	s.shared.stored(u)
}

// insert makes an entry without a deadline for a key that has none. Its weight is reserved.
func (s *shard[K, V]) insert(u *update[K, V]) uint32 {
	i := s.newSlot()
	e := &s.entries[i]
	e.key, e.value = u.key, u.value
	s.index.Insert(u.hash, i)
	s.lost.Forget(u.hash)
	if s.weights != nil {
		s.weights[i] = u.weight
	}
	if u.weight > 0 {
		s.enlist(i, u.hash)
	}
	return i
}

// replace replaces the value of entry i, which has not expired or is in Grace.
func (s *shard[K, V]) replace(i uint32, u *update[K, V]) {
	e := &s.entries[i]
	s.countRemoval(u.hash, e, Replaced)
	e.value = u.value
	s.use(i)
}

// putWeighed is put in a cache that weighs its values. If found, i is the entry of the key.
func (s *shard[K, V]) putWeighed(i uint32, found bool, u *update[K, V]) (missing uint64) {
	if uint64(u.weight) > s.shared.sizing.budget.max.Load() {
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
	}
	s.beginLife(i, u)
	s.maybeShrink() // one heavy value can evict many
	return 0
}

// reserveFor takes from the budget what the value of u needs as a new entry or, if
// found, in place of the value of entry i. While too little is left it evicts other
// entries of this shard, a batch at most. It returns what is still missing; the weight
// of the evicted entries stays reserved for u.
func (s *shard[K, V]) reserveFor(i uint32, found bool, u *update[K, V]) (missing uint64) {
	b := &s.shared.sizing.budget
	need := uint64(u.weight)
	if found {
		old := uint64(s.weights[i])
		b.release(old - min(old, need))
		need -= min(old, need)
	}
	for range batch {
		if u.reserved >= need {
			b.release(u.reserved - need)
			u.reserved = 0
			return 0
		}
		if b.reserve(need - u.reserved) {
			u.reserved = 0
			return 0
		}
		if s.shouldBorrow(u.hash) && (u.making || b.making.TryLock()) {
			u.making = true
			break
		}
		victim, h, cause, ok := s.victim()
		if ok && found && victim == i {
			victim, ok = s.firstBut(i)
			h, cause = s.hashOf(victim), s.causeOr(Evicted, victim)
		}
		if !ok {
			break
		}
		u.reserved += s.detach(victim, h, cause)
	}
	return need - min(need, u.reserved)
}

// reweigh gives entry i another weight. The order has the entry only while that is not 0.
func (s *shard[K, V]) reweigh(i uint32, u *update[K, V]) {
	old := s.weights[i]
	if old > 0 && u.weight > 0 {
		s.order.Reweigh(i, u.weight)
	} else if old > 0 {
		s.delist(i)
	}
	s.weights[i] = u.weight
	if old == 0 && u.weight > 0 {
		s.enlist(i, u.hash)
	}
}

// refuse is put of a value that is heavier than MaxWeight: it replaces the old value, which
// is entry i if found, and is evicted itself.
func (s *shard[K, V]) refuse(i uint32, found bool, u *update[K, V]) {
	if found {
		s.remove(i, u.hash, Replaced)
	}
	s.countRemoval(u.hash, &entry[K, V]{key: u.key, value: u.value}, Evicted)
}
