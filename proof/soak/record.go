package main

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	never = math.MaxInt64

	// crowd is how many values of a key may be open. A key with more is only read, to
	// bound the checker's memory.
	crowd = 48
)

// A record knows which values a key may have. Values are numbered in the order in which
// they were offered to the cache. An answer is a violation only if no order of the
// operations under way explains it.
//
// Readers use the atomic fields, which are written with mu held.
type record struct {
	begun   atomic.Uint64 // how many changes have begun
	sure    atomic.Uint64 // present and until are certain if this equals begun
	present atomic.Uint64 // the key's value, unless the cache dropped it; 0 means none
	until   atomic.Int64  // when present may expire
	floor   atomic.Uint64 // values up to this number cannot come back
	latest  atomic.Int64  // when all values so far have expired
	crowded atomic.Bool

	uses uses

	mu       sync.Mutex
	last     uint64 // value offered
	unfenced int    // changes under way that no later one cancels
	fenced   int    // those that a later one cancels
	touching int    // those of unfenced that move deadlines
	loading  bool   // a fetch runs
	loose    change // a load whose fetch has ended, perhaps not stored yet; version 0 means none
	calling  bool   // OnRemove runs
	ledger   bool   // the cache has OnRemove
	evicts   bool   // the cache may evict
	open     []item // values that may be in the cache, or were not reported yet
	past     history
}

// An item is a value that was offered.
type item struct {
	number       uint64
	began, acked int64 // acked is 0 while it is under way
	earliest     int64 // when it may expire
	latest       int64 // when it must have expired; known once acked
	fenced       bool
	stored       bool // for certain
}

// A life is the least and the greatest TTL of a value.
type life struct{ least, most int64 }

// A view is what a reader knows before it reads.
type view struct {
	begun, present, floor uint64
	until, latest         int64
	sure                  bool
}

func (r *record) look() view {
	v := view{begun: r.begun.Load()}
	v.sure = r.sure.Load() == v.begun
	v.present, v.until = r.present.Load(), r.until.Load()
	v.floor, v.latest = r.floor.Load(), r.latest.Load()
	return v
}

// judge returns what is wrong with the answer of a read, if anything. v was taken before
// it; it began at tb and ended at te.
func (r *record) judge(v view, tb, te int64, number uint64, found bool) string {
	same := r.begun.Load() == v.begun
	sure := same && v.sure
	switch {
	case found && number <= v.floor:
		return fmt.Sprintf("value %d was found, which had been replaced, removed or reported before the call began", number)
	case found && same && tb >= v.latest:
		if v.latest == 0 {
			return fmt.Sprintf("%s was found, but the key has none", valueName(number))
		}
		return fmt.Sprintf("%s was found %v after its deadline", valueName(number), time.Duration(tb-v.latest))
	case found && sure && number != v.present:
		return fmt.Sprintf("%s was found, but the key has %s", valueName(number), valueName(v.present))
	case !found && sure && v.present != 0 && te < v.until:
		return fmt.Sprintf("value %d was not found, though it lives for %v more at least", v.present, time.Duration(v.until-te))
	case !found && sure && v.present != 0:
		r.present.CompareAndSwap(v.present, 0) // what one read missed, none finds again
	}
	return ""
}

func valueName(number uint64) string {
	switch number {
	case 0:
		return "no value"
	case unknown:
		return "a value"
	}
	return fmt.Sprintf("value %d", number)
}

// A change is an operation under way that may change a key's value.
type change struct {
	kind    kind
	number  uint64 // of the value that it offers; 0 means none
	life    life
	began   int64
	version uint64
	was     view
	floor   uint64 // the floor of the record when it has ended
	alone   bool   // no change that began before it can take effect after it
	quiet   bool   // no other change was under way
}

// begin records that a change begins.
func (r *record) begin(k kind, l life) (c change, wrong string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c = change{kind: k, life: l, was: r.look(), floor: r.settled(), alone: r.unfenced == 0}
	c.quiet = c.alone && r.fenced == 0 && r.loose.version == 0
	if k <= load || k == touch {
		r.latest.Store(never) // first: whoever sees begun sees this
	}
	c.version = r.begun.Add(1)
	c.was.begun = c.version
	switch {
	case k == load:
		if r.loading {
			wrong = "a second fetch began while one was running"
		}
		r.loading = true
		r.settleLoose(now())
		r.fenced++
	case k.fenced():
		r.fenced++
	default:
		r.unfenced++
	}
	c.began = now()
	if k == touch {
		r.touching++
	}
	if k <= load {
		r.last++
		c.number = r.last
		r.open = append(r.open, item{number: c.number, began: c.began, earliest: plus(c.began, l.least), fenced: k.fenced()})
	}
	r.past.note(event{c.began, c.number, min(l.most, never-1), k, began})
	return c, wrong
}

// settled returns the number up to which a change that begins now keeps all values out of
// the cache for good.
func (r *record) settled() uint64 {
	n := r.last
	for i := range r.open {
		if it := &r.open[i]; it.acked == 0 && !it.fenced {
			n = min(n, it.number-1)
		}
	}
	return n
}

// fetched records that the fetch of a load has returned a value, which may be in the cache
// from now on.
func (r *record) fetched(c *change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loading = false
	r.fenced--
	r.loose = *c
	if i := r.find(c.number); i >= 0 {
		r.open[i].earliest = plus(now(), c.life.least)
	}
}

// settleLoose records that the loose load has been stored or never will be.
func (r *record) settleLoose(at int64) {
	if i := r.find(r.loose.number); i >= 0 && r.loose.version != 0 {
		it := &r.open[i]
		it.acked, it.latest = at, max(it.latest, plus(at, r.loose.life.most))
	}
	r.loose.version = 0
}

// returned records that the caller that ran the fetch of a load has got its value. certain
// says that no change began between its call and the fetch.
func (r *record) returned(c *change, certain bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loose.version != c.version {
		return
	}
	at := now()
	r.settleLoose(at)
	r.past.note(event{at, c.number, 0, load, ended})
	if certain && r.begun.Load() == c.version {
		if i := r.find(c.number); i >= 0 {
			r.open[i].stored = true
			r.certain(c.number, r.open[i].earliest)
		} else {
			r.certain(0, 0)
		}
	}
	r.refresh()
}

// stored records that a change has ended and stored its value.
func (r *record) stored(c *change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(c)
	at := now()
	present, until := uint64(0), int64(0) // as after a report
	if i := r.find(c.number); i >= 0 {
		it := &r.open[i]
		it.acked, it.stored, it.latest = at, true, max(it.latest, plus(at, c.life.most))
		present, until = c.number, it.earliest
	}
	r.overwritten(c, at, present, until)
}

// removed records that a change has ended and left the key without a value.
func (r *record) removed(c *change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(c)
	r.overwritten(c, now(), 0, 0)
}

// overwritten records that a change has ended that removed all values before it.
func (r *record) overwritten(c *change, at int64, present uint64, until int64) {
	if r.loose.version < c.version {
		r.settleLoose(at) // stored before, or kept out
	}
	r.raise(c.floor)
	if c.alone && r.begun.Load() == c.version {
		r.certain(present, until)
	}
	r.past.note(event{at, c.number, 0, c.kind, ended})
	r.refresh()
}

// kept records that a change has ended without effect. It returns what is wrong if the
// value that it offered was reported.
func (r *record) kept(c *change) (wrong string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(c)
	if c.kind == load {
		r.loading = false
	}
	if c.number != 0 {
		i := r.find(c.number)
		if i < 0 && r.ledger {
			wrong = fmt.Sprintf("value %d was reported, but was not stored", c.number)
		} else if i >= 0 {
			r.open = slices.Delete(r.open, i, i+1)
		}
	}
	if c.was.sure && r.begun.Load() == c.version {
		r.sure.Store(c.version)
	}
	r.past.note(event{now(), c.number, 0, c.kind, gaveUp})
	r.refresh()
	return wrong
}

// touched records that a Touch has ended.
func (r *record) touched(c *change, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(c)
	r.touching--
	at := now()
	sure := c.was.sure && c.quiet && r.begun.Load() == c.version
	earliest, latest := plus(c.began, c.life.least), plus(at, c.life.most)
	for i := range r.open {
		it := &r.open[i]
		if sure && found && it.number == c.was.present {
			it.earliest, it.latest = earliest, latest
		} else {
			it.earliest, it.latest = min(it.earliest, earliest), max(it.latest, latest)
		}
	}
	r.past.note(event{at, 0, c.life.most, touch, ended})
	if sure && found {
		r.certain(r.present.Load(), earliest)
	} else if sure {
		r.certain(0, 0)
	}
	r.refresh()
}

// leave records that a change is no longer under way.
func (r *record) leave(c *change) {
	if c.kind.fenced() {
		r.fenced--
	} else {
		r.unfenced--
	}
}

// certain publishes the key's value if no change is under way.
func (r *record) certain(present uint64, until int64) {
	r.present.Store(present)
	if r.evicts {
		until = 0
	}
	r.until.Store(until)
	r.sure.Store(r.begun.Load()) // last: whoever sees it sees the others
}

func (r *record) raise(floor uint64) {
	if floor > r.floor.Load() {
		r.floor.Store(floor)
	}
}

// refresh computes floor and latest from the open values.
func (r *record) refresh() {
	floor, low, latest := r.floor.Load(), r.last+1, int64(0)
	if !r.ledger {
		r.open = slices.DeleteFunc(r.open, func(it item) bool { return it.number <= floor })
	}
	for i := range r.open {
		it := &r.open[i]
		if it.number <= floor {
			continue
		}
		low = min(low, it.number)
		if it.acked == 0 {
			latest = never
		}
		latest = max(latest, it.latest)
	}
	if r.touching > 0 {
		latest = never
	}
	r.raise(low - 1)
	r.latest.Store(latest)
	r.crowded.Store(len(r.open) > crowd)
}

// find returns the index of a value in open, or -1.
func (r *record) find(number uint64) int {
	return slices.IndexFunc(r.open, func(it item) bool { return it.number == number })
}

// plus returns the time d after t, or never.
func plus(t, d int64) int64 {
	if s := t + d; s >= t {
		return s
	}
	return never
}
