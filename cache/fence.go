// This file has fences and the latest changes of a shard, by which a Compute finds that its key was
// changed. A change also makes loads stale.

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

// A fences has what the Computes of a shard need. A Compute puts up no fence at first, as that
// locks the shard for writing and writes to a map: it looks whether its key is among the latest
// that were changed. If it is, or too many others were, as happens with slow functions, it puts
// up a fence, and so do the next ones.
//
// The lock of the shard guards it.
type fences[K comparable] struct {
	of      map[K]*fence
	peak    int32             // most keys with fences since the map shrank
	wary    int               // how many Computes are still to put up a fence at once
	changes uint64            // of keys, so far
	latest  [maxLatest]uint64 // the hashes of the keys changed last; change n is at n % maxLatest
}

const (
	maxLatest = 64 // changes
	waryFor   = 32 // Computes
)

// any reports whether there are fences.
func (f *fences[K]) any() bool { return f != nil && len(f.of) != 0 }

// note notes that a key with hash h is changed.
func (f *fences[K]) note(h uint64) {
	if f != nil {
		f.latest[f.changes%maxLatest] = h
		f.changes++
	}
}

// unchanged reports whether a key with hash h was certainly not changed since there were so many
// changes.
func (f *fences[K]) unchanged(h, since uint64) bool {
	if f.changes-since > maxLatest {
		return false
	}
	for ; since < f.changes; since++ {
		if f.latest[since%maxLatest] == h {
			return false
		}
	}
	return true
}

// addFence puts a fence on a key.
func (s *shard[K, V]) addFence(key K, f *fence) {
	if s.fences != nil {
		f.next = s.fences.of[key]
	}
	s.setFences(key, f)
}

// setFences replaces the fences of a key.
func (s *shard[K, V]) setFences(key K, first *fence) {
	if s.fences == nil {
		s.fences = new(fences[K])
	}
	if s.fences.of == nil {
		s.fences.of = make(map[K]*fence)
	}
	s.fences.of[key] = first
	s.fences.peak = max(s.fences.peak, int32(len(s.fences.of)))
}

// removeFence removes a fence and reports whether it held.
func (s *shard[K, V]) removeFence(key K, f *fence) bool {
	if f.broken {
		return false
	}
	if first := s.fences.of[key]; first != f {
		for first.next != f {
			first = first.next
		}
		first.next = f.next
	} else if f.next != nil {
		s.fences.of[key] = f.next
	} else {
		s.dropFences(key)
	}
	return true
}

// breakFences breaks the fences on a key with hash h, which is about to change.
func (s *shard[K, V]) breakFences(h uint64, key K) {
	if s.load != nil || s.fences != nil || s.common.negatives != nil {
		s.breakFencesOn(h, key)
	}
}

// breakFencesOn is breakFences if there are any, or errors may be kept. It is apart so that
// the usual case is inlined. Of the loads of the key only the newest may not be stale yet.
func (s *shard[K, V]) breakFencesOn(h uint64, key K) {
	s.common.dropError(key)
	s.fences.note(h)
	if l := s.newest(key); l != nil {
		l.stale = true
	}
	if !s.fences.any() {
		return
	}
	if f, ok := s.fences.of[key]; ok {
		for ; f != nil; f = f.next {
			f.breakOff()
		}
		s.dropFences(key)
	}
}

// passEviction is breakFences for a key whose entry is about to be evicted. An eviction
// does not change the value, so a load of the key goes on; but if no caller waits for it,
// it is not stored.
func (s *shard[K, V]) passEviction(h uint64, key K) {
	if s.load != nil || s.fences != nil {
		s.passEvictionOf(h, key)
	}
}

// passEvictionOf is passEviction if there are loads or fences.
func (s *shard[K, V]) passEvictionOf(h uint64, key K) {
	l := s.newest(key)
	if l != nil && !l.stale {
		defer func() { l.stale, l.evicted = false, true }()
	}
	s.breakFencesOn(h, key)
}

// dropFences removes all fences of a key.
func (s *shard[K, V]) dropFences(key K) {
	delete(s.fences.of, key)
	s.fences.of = shrunk(s.fences.of, &s.fences.peak)
}

// breakAllFences breaks the fences on all keys of the shard, which Clear is about to remove. It notes
// no change for a Compute without a fence: that finds its key gone, or what was stored since noted.
func (s *shard[K, V]) breakAllFences() {
	for l := range s.newestLoads() {
		l.stale = true
	}
	if s.fences == nil {
		return
	}
	for _, f := range s.fences.of {
		for ; f != nil; f = f.next {
			f.breakOff()
		}
	}
	s.fences.of, s.fences.peak = nil, 0
}
