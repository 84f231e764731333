package cache

// overwrite gives entry i another value and deadline, for a Set in a simple cache. It returns
// false, and changes nothing, if that affects more than the entry: its task, loads, fences,
// ages or the watch. It need not check closed: a closed shard is empty, or soon will be.
func (s *shard[K, V]) overwrite(i uint32, value V, deadline int64) bool {
	e := &s.entries[i]
	old, c := e.deadline.load(), s.common
	switch {
	case !c.clock.far(old), !c.clock.far(deadline): // expired, or nearly
		return false
	case (old == never) != (deadline == never): // a task must be set or removed
		return false
	case s.noted, len(s.loads)+len(s.fences) != 0:
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
