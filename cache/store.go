// This file stores a value in a shard, for set.go, compute.go, conclude.go and restore.go. What is
// missing of the budget comes from room.go.

package cache

import "github.com/pinwheel-cache/pinwheel/cache/internal/clock"

// An update is a value to store for a key, with everything that is computed before the
// shard is locked.
type update[K comparable, V any] struct {
	hash   uint64
	key    K
	value  V
	weight uint32
	life   life
	began  int64 // when its load began; 0: it is of now

	reserved uint64 // of the budget, by evictions for this value
	making   bool   // the caller makes room, and holds budget.making

	// Of a cache with both limits:
	wantsEntry bool // makeRoom is to evict an entry for it
	hasEntry   bool // it has the place of that entry

	reported bool // events were queued, so settle must follow
	refused  bool // it is not stored, whatever room there is
}

// store stores u, in one attempt or more. Each attempt runs with the shard of u locked: it
// calls put, or does nothing if u is not to be stored any more, and returns how much room is
// missing. store makes that room between attempts, without a lock.
func (c *Cache[K, V]) store(u *update[K, V], attempt func(*shard[K, V]) (missing uint64)) {
	c.storeUnsettled(u, attempt)
	c.common.observers.settle(u.reported)
}

// storeUnsettled is store for a caller that calls settle itself.
func (c *Cache[K, V]) storeUnsettled(u *update[K, V], attempt func(*shard[K, V]) (missing uint64)) {
	for done := false; !done; {
		s := c.common.lock(u.hash)
		done = c.endStore(s, u, attempt(s))
	}
}

// endStore ends an attempt to store u in s, which is locked: it unlocks s and makes missing
// room by evictions in other shards. It returns done if no room was missing.
func (c *Cache[K, V]) endStore(s *shard[K, V], u *update[K, V], missing uint64) (done bool) {
	u.reported = s.unlock() || u.reported
	if missing > 0 {
		c.makeRoom(u, missing)
		return false
	}
	if u.making {
		c.endMaking(u)
	}
	return true
}

// put stores a value and makes the loads of its key stale. If the cache has too little room,
// and this shard has nothing left to evict, it stores nothing and returns how much is
// missing.
func (u *update[K, V]) put(s *shard[K, V]) (missing uint64) {
	i, found := s.find(u.hash, u.key)
	return u.putAt(s, i, found)
}

// putAt is put after find: if found, i is the entry of the key.
func (u *update[K, V]) putAt(s *shard[K, V], i uint32, found bool) (missing uint64) {
	s.change(u.hash, u.key)
	if s.off || !s.common.hasher.Reflexive(u.key) {
		if found { // Bypass is about to remove it, and nobody may get it after this
			s.remove(i, u.hash, s.causeOr(Cleared, i))
		}
		u.refused = true
		return 0
	}
	if found && !s.common.time.clock.Far(s.entries[i].deadline.Get()) && s.checkGone(i) {
		s.remove(i, u.hash, Expired)
		found = false
	}
	if s.common.size.weigh != nil {
		return u.putWeighed(s, i, found)
	}
	switch {
	case found:
		u.replace(s, i)
	case s.limited && u.reserved > 0:
		u.reserved--
		i = s.insert(u.hash, u.key, u.value, 1)
	case s.limited && !s.common.size.budget.reserve(1):
		if s.slots.len == 0 {
			return 1
		}
		i = s.takeOver(u.hash, u.key, u.value)
		if !s.noted && s.common.simple && outlast(&s.entries[i].deadline, u.life.deadline) {
			return 0
		}
	default:
		i = s.insert(u.hash, u.key, u.value, 1)
	}
	u.beginLife(s, i)
	return 0
}

// takeOver evicts the entry that is next by the order and gives its slot to a key with hash h
// that has no entry, in a cache without weights. Deadline and task are still those of the old
// entry: setLife replaces them.
func (s *shard[K, V]) takeOver(h uint64, key K, value V) uint32 {
	i, old, cause, _ := s.victim()
	e := &s.entries[i]
	s.noteRemoval(i, old, cause)
	s.index.Remove(old, i)
	s.index.Insert(h, i)
	s.tally.found(h)
	s.turn.replace(i, h)
	e.key, e.value = key, value
	return i
}

// add stores a value for a key that has no entry, for a Set in a simple cache. It returns false,
// and changes nothing, if it would have to do more than evict an entry and break fences.
func (s *shard[K, V]) add(h uint64, key K, value V, deadline int64) bool {
	if s.off || s.noted || s.pending.any() || !s.common.hasher.Reflexive(key) {
		return false
	}
	var i uint32
	switch {
	case s.limited && s.common.size.budget.full() && s.slots.len > 0:
		i = s.takeOver(h, key, value)
		if outlast(&s.entries[i].deadline, deadline) {
			s.pending.breakFences(h)
			return true
		}
	case !s.limited || s.common.size.budget.reserve(1):
		i = s.insert(h, key, value, 1)
	default: // other shards must make room
		return false
	}
	s.pending.breakFences(h)
	if t := &s.common.time; s.lives.set(i, &s.entries[i].deadline, life{deadline, deadline, clock.Never}, t) { // setLife, inlined
		s.setTask(i, t.tickAt(deadline))
	}
	return true
}

// insert makes an entry without a deadline for a key that has none. Its weight is reserved.
func (s *shard[K, V]) insert(h uint64, key K, value V, weight uint32) uint32 {
	i := s.claimSlot()
	e := &s.entries[i]
	e.key, e.value = key, value
	s.index.Insert(h, i)
	s.tally.found(h)
	s.turn.insert(i, h, weight)
	return i
}

// replace replaces the value of entry i, which has not expired or is in Grace.
func (u *update[K, V]) replace(s *shard[K, V], i uint32) {
	e := &s.entries[i]
	s.countRemoval(u.hash, e, Replaced)
	e.value = u.value
	s.use(i)
}

// putWeighed is put in a cache that weighs its values. If found, i is the entry of the key.
func (u *update[K, V]) putWeighed(s *shard[K, V], i uint32, found bool) (missing uint64) {
	if s.common.size.tooHeavy(u.weight) {
		u.refuse(s, i, found)
		return 0
	}
	if missing := u.reserve(s, i, found); missing > 0 {
		return missing
	}
	if !found && !u.reserveEntry(s) {
		return 1 // of weight, for which other shards evict an entry
	}
	if found {
		u.replace(s, i)
		s.turn.reweigh(i, u.weight)
	} else {
		i = s.insert(u.hash, u.key, u.value, u.weight)
	}
	u.beginLife(s, i)
	s.maybeShrink() // one heavy value can evict many
	return 0
}

// refuse is put of a value that is heavier than MaxWeight: it replaces the old value, which
// is entry i if found, and is evicted itself.
func (u *update[K, V]) refuse(s *shard[K, V], i uint32, found bool) {
	u.refused = true
	if found {
		s.remove(i, u.hash, Replaced)
	}
	s.countRemoval(u.hash, &entry[K, V]{key: u.key, value: u.value}, Evicted)
}

// beginLife begins the life of a value that was stored in entry i.
func (u *update[K, V]) beginLife(s *shard[K, V], i uint32) {
	if t := &s.common.time; s.lives.set(i, &s.entries[i].deadline, u.life, t) { // setLife, inlined
		s.setTask(i, t.tickAt(u.life.deadline))
	}
	if s.noted {
		u.note(s, i)
	}
}

// note records that entry i has a new value: for its age, and for the watch.
func (u *update[K, V]) note(s *shard[K, V], i uint32) {
	s.tally.store(i, u.began, &s.common.time.clock)
	s.common.stored(u)
}

// overwrite gives entry i, whose key has hash h, another value and deadline, for a Set in a
// simple cache. It returns false, and changes nothing, if it would have to do more than that and break
// fences: for its task, loads, ages or the watch. It need not check off, as a shard that is off is
// empty, or soon will be.
func (s *shard[K, V]) overwrite(h uint64, i uint32, value V, deadline int64) bool {
	e := &s.entries[i]
	old, c := e.deadline.Get(), s.common
	switch {
	case !c.time.clock.Far(old), !c.time.clock.Far(deadline): // expired, or nearly
		return false
	case (old == clock.Never) != (deadline == clock.Never): // a task must be set or removed
		return false
	case s.noted, s.pending.any():
		return false
	}
	s.pending.breakFences(h)
	e.value = value
	e.deadline.Set(deadline)
	s.use(i)
	s.removals[Replaced-Expired]++
	if s.lives.mayBeEarlier(old, deadline) {
		s.lives.markEarlier(i, old, deadline, len(s.entries), &c.time)
	}
	return true
}
