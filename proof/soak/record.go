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
	last     uint64   // value offered
	unfenced int      // changes under way that no later one cancels
	fenced   int      // those that a later one cancels
	touching int      // those of unfenced that move deadlines
	expiring int      // those that make values expire at once
	fetches  []fetch  // that run
	overtook moment   // of the changes that overtake loads
	loose    []change // loads whose fetch has ended, perhaps not stored yet
	calling  bool     // OnRemove runs
	ledger   bool     // the cache has OnRemove
	evicts   bool     // the cache may evict
	open     []item   // values that may be in the cache, or were not reported yet
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

// A fetch runs for a load.
type fetch struct {
	version   uint64
	since     moment // before the load began
	overtaken bool   // by a change, for certain: the result is not stored
}

// A moment says how many changes that overtake loads have begun until then, and how many of
// them were under way.
type moment struct {
	begun    uint64
	underWay int
}

// calm reports whether no load can have been overtaken since m.
func (m moment) calm(now moment) bool { return m.underWay == 0 && m.begun == now.begun }

// moment returns the present moment.
func (r *record) moment() moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overtook
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

// begin records that a change begins. A load began after the moment since.
func (r *record) begin(k kind, l life, since moment) (c change, wrong string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c = change{kind: k, life: l, was: r.look(), floor: r.settled(), alone: r.unfenced == 0}
	c.quiet = c.alone && r.fenced == 0 && len(r.loose) == 0
	if k <= load || k == touch {
		r.latest.Store(never) // first: whoever sees begun sees this
	}
	c.version = r.begun.Add(1)
	c.was.begun = c.version
	switch {
	case k == load:
		wrong = r.beginFetch(fetch{version: c.version, since: since})
		r.fenced++
	case k.fenced():
		r.fenced++
	default:
		r.unfenced++
	}
	if k.overtakes() {
		r.overtook.begun++
		r.overtook.underWay++
	}
	c.began = now()
	if k == touch {
		r.touching++
	}
	if k <= load {
		r.last++
		c.number = r.last
		r.open = append(r.open, item{number: c.number, began: c.began, earliest: r.earliest(l), fenced: k.fenced()})
	}
	if k == expire {
		r.expiring++
		for i := range r.open {
			r.open[i].earliest = min(r.open[i].earliest, c.began)
		}
	}
	r.past.note(event{c.began, c.number, min(l.most, never-1), k, began})
	return c, wrong
}

// earliest returns when a value that is offered or fetched now may expire.
func (r *record) earliest(l life) int64 {
	if r.expiring > 0 {
		return now()
	}
	return plus(now(), l.least)
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
// from now on, unless the load was overtaken. It returns what is wrong if the value was
// reported.
func (r *record) fetched(c *change) (wrong string) {
	r.mu.Lock()
	if slices.ContainsFunc(r.fetches, func(f fetch) bool { return f.version == c.version && f.overtaken }) {
		r.mu.Unlock()
		return r.kept(c)
	}
	defer r.mu.Unlock()
	r.endFetch(c)
	r.fenced--
	r.loose = append(r.loose, *c)
	if i := r.find(c.number); i >= 0 {
		r.open[i].earliest = r.earliest(c.life)
	}
	return ""
}

// beginFetch records that a fetch begins. Of two that run at once, one was overtaken by a
// change: the other one, if no change came since before the load of this one. Then those of
// before are stored by now or never will be.
func (r *record) beginFetch(f fetch) (wrong string) {
	newest := f.since.calm(r.overtook)
	for i := range r.fetches {
		switch other := &r.fetches[i]; {
		case newest && !other.overtaken && other.since.calm(r.overtook):
			wrong = "a second fetch began while one was running, and no change came between"
		case newest:
			other.overtaken = true
		case other.since.calm(r.overtook):
			f.overtaken = true
		}
	}
	r.fetches = append(r.fetches, f)
	if newest {
		r.settleLoose(now(), func(change) bool { return true })
	}
	return wrong
}

// endFetch records that a fetch has ended.
func (r *record) endFetch(c *change) {
	r.fetches = slices.DeleteFunc(r.fetches, func(f fetch) bool { return f.version == c.version })
}

// settleLoose records that loose loads have been stored or never will be.
func (r *record) settleLoose(at int64, settled func(change) bool) {
	r.loose = slices.DeleteFunc(r.loose, func(c change) bool {
		if !settled(c) {
			return false
		}
		if i := r.find(c.number); i >= 0 {
			it := &r.open[i]
			it.acked, it.latest = at, max(it.latest, plus(at, c.life.most))
		}
		return true
	})
}

// returned records that the caller that ran the fetch of a load has got its value. certain
// says that no change began between its call and the fetch.
func (r *record) returned(c *change, certain bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	this := func(l change) bool { return l.version == c.version }
	if !slices.ContainsFunc(r.loose, this) {
		return
	}
	at := now()
	r.settleLoose(at, this)
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
	r.settleLoose(at, func(l change) bool { return l.version < c.version }) // stored before, or kept out
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
		r.endFetch(c)
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
	if c.kind.overtakes() {
		r.overtook.underWay--
	}
	if c.kind.fenced() {
		r.fenced--
	} else {
		r.unfenced--
	}
	if c.kind == expire {
		r.expiring--
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
