// This file has fences: a change of a key breaks those on it, and makes its loads stale.

package cache

// A fence guards a result that is computed outside the lock from the old value of a
// key, by the function of a Compute. A change of the key breaks the fence, and the
// result is not stored: it would undo the change. A load is the same for a key without
// a value, and has its own map.
type fence struct {
	broken    bool
	own       bool   // goroutine itself broke it
	goroutine uint64 // of the Compute; 0 if it does not check that
	next      *fence // of the same key
}

func (f *fence) breakOff() {
	f.broken = true
	f.own = f.goroutine != 0 && f.goroutine == goroutineID()
}

// addFence puts a fence on a key.
func (s *shard[K, V]) addFence(key K, f *fence) {
	f.next = s.fences[key]
	s.setFences(key, f)
}

// setFences replaces the fences of a key.
func (s *shard[K, V]) setFences(key K, first *fence) {
	if s.fences == nil {
		s.fences = make(map[K]*fence)
	}
	s.fences[key] = first
	s.peakFences = max(s.peakFences, int32(len(s.fences)))
}

// removeFence removes a fence and reports whether it held.
func (s *shard[K, V]) removeFence(key K, f *fence) bool {
	if f.broken {
		return false
	}
	if first := s.fences[key]; first != f {
		for first.next != f {
			first = first.next
		}
		first.next = f.next
	} else if f.next != nil {
		s.fences[key] = f.next
	} else {
		s.dropFences(key)
	}
	return true
}

// breakFences breaks the fences on a key, which is about to change.
func (s *shard[K, V]) breakFences(key K) {
	if len(s.loads)+len(s.fences) != 0 || s.common.negatives != nil {
		s.breakFencesOn(key)
	}
}

// breakFencesOn is breakFences if there are any, or errors may be kept. It is apart so that
// the usual case is inlined. Of the loads of the key only the newest may not be stale yet.
func (s *shard[K, V]) breakFencesOn(key K) {
	s.common.dropError(key)
	if l := s.loads[key]; l != nil {
		l.stale = true
	}
	f, ok := s.fences[key]
	if !ok {
		return
	}
	for ; f != nil; f = f.next {
		f.breakOff()
	}
	s.dropFences(key)
}

// passEviction is breakFences for a key whose entry is about to be evicted. An eviction
// does not change the value, so a load of the key goes on; but if no caller waits for it,
// it is not stored.
func (s *shard[K, V]) passEviction(key K) {
	if len(s.loads)+len(s.fences) != 0 {
		s.passEvictionOf(key)
	}
}

// passEvictionOf is passEviction if there are loads or fences.
func (s *shard[K, V]) passEvictionOf(key K) {
	l := s.loads[key]
	if l != nil && !l.stale {
		defer func() { l.stale, l.evicted = false, true }()
	}
	s.breakFencesOn(key)
}

// dropFences removes all fences of a key.
func (s *shard[K, V]) dropFences(key K) {
	delete(s.fences, key)
	s.fences = shrunk(s.fences, &s.peakFences)
}

// breakAllFences breaks the fences on all keys of the shard.
func (s *shard[K, V]) breakAllFences() {
	for _, l := range s.loads {
		l.stale = true
	}
	for _, f := range s.fences {
		for ; f != nil; f = f.next {
			f.breakOff()
		}
	}
	s.fences, s.peakFences = nil, 0
}
