package cache

// A fence stands for something that is computed outside the lock from what a key
// had before: the function of a Compute that is running. Whoever changes the key
// breaks the fence, and then the result is not stored: it would undo the change. A
// load is the same for a key that has no value, and has its own map.
type fence struct {
	broken bool
	next   *fence // of the same key
}

// addFence puts a fence on a key.
func (s *shard[K, V]) addFence(key K, f *fence) {
	if s.fences == nil {
		s.fences = make(map[K]*fence)
	}
	f.next = s.fences[key]
	s.fences[key] = f
}

// removeFence takes a fence off again and reports whether it held.
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
		delete(s.fences, key)
	}
	return true
}

// breakFences breaks the fences on a key, which is about to change.
func (s *shard[K, V]) breakFences(key K) {
	if len(s.loads)+len(s.fences) != 0 {
		s.breakFencesOn(key)
	}
}

// breakFencesOn is breakFences where there are any: the rare case, apart, so that
// the other is inlined.
func (s *shard[K, V]) breakFencesOn(key K) {
	if l := s.loads[key]; l != nil {
		l.stale = true
	}
	f, ok := s.fences[key]
	if !ok {
		return
	}
	for ; f != nil; f = f.next {
		f.broken = true
	}
	delete(s.fences, key)
}

// breakAllFences breaks the fences on all keys of the shard.
func (s *shard[K, V]) breakAllFences() {
	for _, l := range s.loads {
		l.stale = true
	}
	for _, f := range s.fences {
		for ; f != nil; f = f.next {
			f.broken = true
		}
	}
	clear(s.fences)
}
