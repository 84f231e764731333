// This file guards results that are computed outside the lock of a shard.

package cache

import (
	"bytes"
	"runtime"
	"strconv"
	"time"
)

// A fence guards a result that is computed outside the lock from the old value of a
// key, by the function of a Compute. A change of the key breaks the fence, and the
// result is not stored: it would undo the change. A load is the same for a key without
// a value, and has its own map.
type fence[K comparable] struct {
	hash      uint64
	key       K
	ticket    uint64 // tells it from the others of the shard
	goroutine uint64 // of the Compute; 0 if it does not check that
	broken    bool
	own       bool // goroutine itself broke it
}

// A fences has the fences of a shard, in no order. There are as many as functions of Compute
// run, which are few, and they stay in one array: a Compute allocates nothing.
type fences[K comparable] struct {
	list    []fence[K]
	tickets uint64 // given out so far
}

// fewFences is how many fences keep their array when the last of them has gone.
const fewFences = 64

// goroutineID returns the number of the calling goroutine, with which the runtime
// begins stack traces: "goroutine 18 [running]". It takes a microsecond, so it is only
// for cases in which something has gone wrong already.
func goroutineID() uint64 {
	var trace [64]byte
	text := bytes.TrimPrefix(trace[:runtime.Stack(trace[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return id
}

// A validity says whether the result of a load may still be stored. The lock of the shard
// guards it.
type validity struct {
	stale   bool // the key was changed since: the result is not stored, and nobody joins
	private bool // no caller wants the result stored
	evicted bool // the entry was evicted since: the result is stored only if a caller waits
}

// keptErrors keeps errors by the keys of any cache. It is an interface to hide the type of
// the cache in it: each package that sees a generic type compiles all its methods anew, and
// a package that uses one cache should not compile two.
type keptErrors interface {
	get(key any) error
	set(key any, err error, ttl time.Duration)
	del(key any)
	len() int
	ever() uint64 // how many errors it was given
	clear()
	resize(limit int)
	close()
}

// addFence puts a fence on a key and returns its ticket.
func (s *shard[K, V]) addFence(h uint64, key K, goroutine uint64) (ticket uint64) {
	if s.fences == nil {
		s.fences = new(fences[K])
	}
	s.fences.tickets++
	s.putFence(fence[K]{hash: h, key: key, ticket: s.fences.tickets, goroutine: goroutine})
	return s.fences.tickets
}

// putFence adds a fence that has its ticket.
func (s *shard[K, V]) putFence(f fence[K]) {
	s.fences.list = append(s.fences.list, f)
	s.fenced++
}

// adoptFence adds a fence of a shard that is being split.
func (s *shard[K, V]) adoptFence(f fence[K]) {
	if s.fences == nil {
		s.fences = new(fences[K])
	}
	s.fences.tickets = max(s.fences.tickets, f.ticket)
	s.putFence(f)
}

// removeFence removes a fence and returns it.
func (s *shard[K, V]) removeFence(ticket uint64) fence[K] {
	list := s.fences.list
	last := len(list) - 1
	i := last
	for list[i].ticket != ticket {
		i--
	}
	f := list[i]
	list[i] = list[last]
	s.popFence()
	return f
}

// popFence removes the last fence of the list.
func (s *shard[K, V]) popFence() {
	var none K
	last := len(s.fences.list) - 1
	s.fences.list[last].key = none // keeps nothing alive
	s.fences.list = s.fences.list[:last]
	if s.fenced--; last == 0 && cap(s.fences.list) > fewFences {
		s.fences.list = nil
	}
}

// isFenced reports whether a Compute of a key is under way whose result would be stored.
func (s *shard[K, V]) isFenced(h uint64, key K) bool {
	if s.fenced == 0 {
		return false
	}
	for i := range s.fences.list {
		if f := &s.fences.list[i]; f.hash == h && f.key == key && !f.broken {
			return true
		}
	}
	return false
}

// breakFences breaks the fences on a key, which is about to change. It is just short enough
// to be inlined: every Set calls it.
func (s *shard[K, V]) breakFences(h uint64, key K) {
	if len(s.loads)+int(s.fenced) != 0 || s.keepsErrors {
		s.breakFencesOn(h, key)
	}
}

// breakFencesOn is breakFences if there are any, or errors were kept. It is apart so that
// the usual case is inlined.
func (s *shard[K, V]) breakFencesOn(h uint64, key K) {
	if s.keepsErrors {
		s.shared.negatives.del(key)
	}
	if l := s.loads[key]; l != nil {
		l.stale = true
	}
	s.breakComputes(h, key)
}

// breakComputes breaks the fences of a key, but leaves its loads alone.
func (s *shard[K, V]) breakComputes(h uint64, key K) {
	if s.fenced == 0 {
		return
	}
	for i := range s.fences.list {
		if f := &s.fences.list[i]; f.hash == h && f.key == key {
			f.breakOff()
		}
	}
}

func (f *fence[K]) breakOff() {
	if !f.broken {
		f.broken = true
		f.own = f.goroutine != 0 && f.goroutine == goroutineID()
	}
}

// passEviction is breakFences for a key whose entry is about to be evicted. An eviction
// does not change the value, so a load of the key goes on; but if no caller waits for it,
// it is not stored.
func (s *shard[K, V]) passEviction(h uint64, key K) {
	if len(s.loads)+int(s.fenced) == 0 {
		return
	}
	if l := s.loads[key]; l != nil {
		l.evicted = true // which means nothing if it is stale
	}
	s.breakComputes(h, key)
}

// breakAllFences breaks the fences on all keys of the shard.
func (s *shard[K, V]) breakAllFences() {
	for _, newest := range s.loads {
		newest.stale = true
	}
	if s.fenced == 0 {
		return
	}
	for i := range s.fences.list {
		s.fences.list[i].breakOff()
	}
}
