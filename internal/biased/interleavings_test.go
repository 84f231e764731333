package biased

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// This file models the lock as an abstract machine, small enough to try every order of the
// steps of a few readers and writers. A step is one atomic operation of lock.go, or one of
// the mutex or the channel, with what the goroutine does by itself until the next one; its
// comment has the line that it stands for. All goroutines see the steps in one order, as Go's
// atomic operations guarantee.
//
// Three things differ from lock.go, and only add orders. Wherever a window decides whether
// the bias comes back, both are tried. A reader takes any of the stripes, as it may after a
// widen. And a reader that polls the bias may stop whenever it is not on. All reads are hits.
//
// Mutations of the machine show that the explorer finds flaws: it must find each of them.

// A place is where a goroutine is: before the step of that name.
type place uint8

const (
	outside place = iota // between two rounds

	// Of a reader.
	entering      // the stripe
	lookingAgain  // at the bias
	reading       // inside, by the stripe
	leavingInVain // the stripe: the bias was gone
	lookingAfresh // at the bias, after it found the bias gone
	waking        // the writer: it takes the mark off
	closing       // drained
	queueing      // at mu
	readingLocked // inside, by mu
	givingBack    // the bias

	// Of a writer.
	lookingAtBias
	withdrawing // the bias
	lookingAtStripe
	making // drained
	marking
	unmarking
	sleeping // until drained is closed
	rereading
	writing // inside
	restoring

	// Of both.
	unlocking // mu
)

var placeNames = [...]string{
	"outside", "entering", "lookingAgain", "reading", "leavingInVain", "lookingAfresh", "waking", "closing", "queueing", "readingLocked", "givingBack",
	"lookingAtBias", "withdrawing", "lookingAtStripe", "making", "marking", "unmarking", "sleeping", "rereading", "writing", "restoring",
	"unlocking",
}

func (p place) String() string { return placeNames[p] }

const mostStripes, mostReaders, mostWriters = 2, 2, 2

// A machine is the lock with all its goroutines at one moment.
type machine struct {
	bias    bool
	locked  bool // mu
	stripes [mostStripes]word
	drained channel
	hits    int8 // of readers that took mu
	reads   int8 // ended: hits and the stripes must add up to it

	readers [mostReaders]reader
	writers [mostWriters]writer

	fault string // what a step did that would be a panic, or a wrong count
}

// A word is the word of a stripe.
type word struct {
	hits, inside int8
	waiting      bool
}

type channel uint8

const (
	unmade channel = iota
	open
	closed
)

type reader struct {
	at     place
	rounds int8 // still to begin
	stripe int8
	inVain bool // it has not read yet
}

type writer struct {
	at      place
	rounds  int8
	stripe  int8 // being drained
	striped int8 // hits that withdraw found
}

// A flaw is a mutation of the machine.
type flaw uint8

const (
	flawless flaw = iota

	noSecondLook    // at the bias: a reader is in as soon as it has entered a stripe
	staysInStripe   // a reader that found the bias gone queues at mu without leaving
	countsInVain    // a reader that found the bias gone counts a hit
	leavesAsleep    // a reader that found the bias gone wakes nobody as it leaves
	allWakersClose  // drained, also those that did not take the mark off
	wakesForAnother // the mark is taken off though others have entered the stripe since
	unmarksByStore  // of zero, instead of taking off that bit

	biasStays        // a writer does not withdraw the bias
	biasGoesLate     // a writer withdraws the bias when the stripes are empty
	noDrain          // a writer does not wait for the stripes
	drainsOneStripe  // a writer waits for the first stripe only
	marksTooEarly    // before drained is made
	sleepsUnseen     // a writer does not look whether the stripe became empty before the mark
	sleepsAlone      // a writer that took its mark off itself waits for drained
	goesAhead        // a writer whose mark was taken off does not wait for drained
	restoresTooEarly // the bias is on again before the writer leaves
	restoresTooLate  // the bias is on again when the writer has unlocked mu
)

// An explorer goes through all orders of steps.
type explorer struct {
	stripes, readers, writers int
	flaw                      flaw

	seen  map[machine]visit
	path  []string // the steps to where it is
	fault string   // the first that was found, with the path there
}

type visit uint8

const (
	underWay visit = iota + 1
	over
)

// explore tries all orders of steps from m on, until it finds a fault.
func (x *explorer) explore(m machine) {
	switch x.seen[m] {
	case underWay:
		x.fail("steps go round in a circle")
		return
	case over:
		return
	}
	x.seen[m] = underWay
	if fault := m.wrong(); fault != "" {
		x.fail(fault)
		return
	}
	stuck := true
	step := func(role string, g int, at place, to []machine) {
		for _, next := range to {
			stuck = false
			if x.fault == "" {
				x.path = append(x.path, fmt.Sprintf("%s %d %v", role, g, at))
				x.explore(next)
				x.path = x.path[:len(x.path)-1]
			}
		}
	}
	for g := range x.readers {
		step("reader", g, m.readers[g].at, x.read(m, g))
	}
	for g := range x.writers {
		step("writer", g, m.writers[g].at, x.write(m, g))
	}
	if stuck && x.fault == "" {
		if fault := m.wrongAtTheEnd(); fault != "" {
			x.fail(fault)
		}
	}
	x.seen[m] = over
}

func (x *explorer) fail(fault string) {
	x.fault = fmt.Sprintf("%s, after:\n\t%s", fault, strings.Join(x.path, "\n\t"))
}

// read returns the machines that the next step of a reader can lead to: none if it must wait,
// or has finished.
func (x *explorer) read(m machine, g int) []machine {
	r := &m.readers[g]
	switch r.at {
	case outside: // RLock: if bias := l.bias.Load(); bias > away {
		if r.rounds == 0 {
			return nil
		}
		r.rounds--
		r.inVain = true
		r.at = queueing
		if m.bias {
			r.at = entering
		}

	case entering: // RLock: s.word.Add(1)
		var to []machine
		for i := range x.stripes {
			next := m
			next.stripes[i].inside++
			next.readers[g].stripe = int8(i)
			next.readers[g].at = lookingAgain
			to = append(to, next)
		}
		return to

	case lookingAgain: // RLock: if l.bias.Load() > away { return s }
		switch {
		case m.bias || x.flaw == noSecondLook:
			r.at = reading
		case x.flaw == staysInStripe:
			r.at = queueing
		default:
			r.at = leavingInVain
		}

	case reading: // RUnlockHit: r.word.Add(1<<hitShift-1)&(waiting|inside) != 0
		r.inVain = false
		m.reads++
		x.leave(&m, r, 1)

	case leavingInVain: // RLock: l.RUnlock(s), which is r.word.Add(^uint64(0))&(waiting|inside) != 0
		hits := int8(0)
		if x.flaw == countsInVain {
			hits = 1
		}
		x.leave(&m, r, hits)

	case lookingAfresh: // rlock: bias := l.bias.Load()
		r.at = queueing
		if m.bias {
			r.at = entering
		}

	case waking: // wake: the compare-and-swap that takes the mark off while nobody is inside
		w := &m.stripes[r.stripe]
		empty := w.inside == 0 || x.flaw == wakesForAnother
		switch {
		case w.waiting && empty, x.flaw == allWakersClose:
			w.waiting = false
			if x.flaw == unmarksByStore {
				*w = word{}
			}
			r.at = closing
		default:
			r.leftStripe()
		}

	case closing: // wake: close(l.drained)
		if m.drained != open {
			m.fault = "a channel that is not open is closed"
		}
		m.drained = closed
		r.leftStripe()

	case queueing: // RLock: l.mu.Lock()
		if m.locked {
			return nil
		}
		m.locked = true
		r.at = readingLocked

	case readingLocked: // runlock: l.hits += hits; if l.reads++; l.reads >= windowReads {
		m.hits++
		m.reads++
		r.at = unlocking
		window := m
		window.readers[g].at = givingBack
		return []machine{m, window}

	case givingBack: // runlock: l.bias.Store(l.shift)
		m.bias = true
		r.at = unlocking

	case unlocking: // runlock: l.mu.Unlock()
		m.locked = false
		r.at = outside
	}
	return []machine{m}
}

// leave takes a reader out of its stripe. If others are inside, or a writer waits, it checks
// whether it must wake the writer.
func (x *explorer) leave(m *machine, r *reader, hits int8) {
	w := &m.stripes[r.stripe]
	w.hits += hits
	w.inside--
	if (w.waiting || w.inside > 0) && !(x.flaw == leavesAsleep && r.inVain) {
		r.at = waking
		return
	}
	r.leftStripe()
}

// leftStripe moves on a reader that has nobody to wake: its round is over, or it must take mu.
func (r *reader) leftStripe() {
	r.at = outside
	if r.inVain {
		r.at = lookingAfresh
	}
}

// write returns the machines that the next step of a writer can lead to.
func (x *explorer) write(m machine, g int) []machine {
	w := &m.writers[g]
	s := &m.stripes[w.stripe]
	switch w.at {
	case outside: // Lock: l.mu.Lock()
		if w.rounds == 0 || m.locked {
			return nil
		}
		w.rounds--
		m.locked = true
		w.at = lookingAtBias

	case lookingAtBias: // enter: l.bias.Load() != off
		w.at = writing
		if m.bias {
			w.at = withdrawing
		}

	case withdrawing: // withdraw: l.bias.Store(away)
		if x.flaw != biasStays && x.flaw != biasGoesLate {
			m.bias = false
		}
		w.stripe, w.striped = 0, 0
		w.at = lookingAtStripe
		if x.flaw == noDrain {
			w.at = writing
		}

	case lookingAtStripe: // drain: if word := s.word.Load(); word&inside == 0 {
		// Looking again changes nothing, so each look is taken for the last.
		if s.inside == 0 {
			x.drained(&m, w)
			break
		}
		w.at = making
		if x.flaw == marksTooEarly {
			w.at = marking
		}

	case making: // drain: l.drained = make(chan struct{})
		m.drained = open
		w.at = marking
		if x.flaw == marksTooEarly {
			w.at = sleeping
		}

	case marking: // drain: empty := s.word.Or(waiting)&inside == 0
		empty := s.inside == 0
		s.waiting = true
		switch {
		case x.flaw == marksTooEarly:
			w.at = making
		case empty && x.flaw != sleepsUnseen:
			w.at = unmarking
		default:
			w.at = sleeping
		}

	case unmarking: // drain: s.word.And(^uint64(waiting))&waiting == 0
		w.at = sleeping // as a reader will close drained
		if s.waiting && x.flaw != sleepsAlone || x.flaw == goesAhead {
			w.at = rereading
		}
		s.waiting = false

	case sleeping: // drain: <-l.drained
		if m.drained != closed {
			return nil
		}
		w.at = rereading

	case rereading: // drain: return s.word.Load()
		x.drained(&m, w)

	case writing: // Lock: l.endWindow; then the writer is inside
		w.striped = 0
		w.at = unlocking
		keep := m
		keep.writers[g].at = restoring
		if x.flaw == restoresTooLate {
			return []machine{m}
		}
		return []machine{m, keep}

	case restoring: // Unlock: if l.keep { l.bias.Store(l.shift) }
		m.bias = true
		w.at = unlocking
		if x.flaw == restoresTooLate {
			w.at = outside
		}

	case unlocking: // Unlock: l.mu.Unlock()
		m.locked = false
		w.at = outside
		if x.flaw == restoresTooLate {
			w.at = restoring
		}
	}
	return []machine{m}
}

// drained is withdraw: striped += l.drain(s)>>hitShift, and for i := range l.stripes
func (x *explorer) drained(m *machine, w *writer) {
	w.striped += m.stripes[w.stripe].hits
	w.stripe++
	w.at = lookingAtStripe
	if int(w.stripe) < x.stripes && x.flaw != drainsOneStripe {
		return
	}
	if w.striped != m.striped() && x.flaw != drainsOneStripe {
		m.fault = "withdraw has missed a hit"
	}
	w.stripe = 0
	w.at = writing
	switch x.flaw {
	case restoresTooEarly:
		m.bias = true
	case biasGoesLate:
		m.bias = false
	}
}

// striped returns the hits in the stripes.
func (m *machine) striped() (hits int8) {
	for _, w := range m.stripes {
		hits += w.hits
	}
	return hits
}

// wrong returns which invariant is violated, if one is.
func (m *machine) wrong() string {
	readers, writers := 0, 0
	for _, r := range m.readers {
		if r.at == reading || r.at == readingLocked || r.at == givingBack {
			readers++
		}
	}
	for _, w := range m.writers {
		if w.at == writing {
			writers++
		}
	}
	switch {
	case m.fault != "":
		return m.fault
	case writers > 1:
		return "two writers are inside"
	case writers == 1 && readers > 0:
		return "a writer is inside beside a reader"
	case writers == 1 && m.bias:
		return "the bias is on while a writer is inside"
	case writers == 1 && m.marked():
		return "a mark is left behind"
	case writers == 1 && m.hits+m.striped() != m.reads:
		return "a writer does not count all hits"
	}
	return ""
}

// marked reports whether a stripe has a mark.
func (m *machine) marked() bool {
	return slices.ContainsFunc(m.stripes[:], func(w word) bool { return w.waiting })
}

// wrongAtTheEnd returns what is wrong in a machine in which nobody can take a step.
func (m *machine) wrongAtTheEnd() string {
	for g, r := range m.readers {
		if r.at != outside || r.rounds > 0 {
			return fmt.Sprintf("reader %d waits for ever", g)
		}
	}
	for g, w := range m.writers {
		if w.at != outside || w.rounds > 0 {
			return fmt.Sprintf("writer %d waits for ever", g)
		}
	}
	for _, w := range m.stripes {
		if w.inside != 0 {
			return "a reader is left in a stripe"
		}
	}
	switch {
	case m.locked:
		return "mu is left locked"
	case m.marked():
		return "a mark is left behind"
	case m.hits+m.striped() != m.reads:
		return "the hits are not those of all reads"
	}
	return ""
}

// A setting is a number of goroutines, with the number of rounds of each.
type setting struct {
	stripes          int
	readers, writers []int8
}

// run explores a setting, once with the bias on at the start and once with it off. It returns
// the first fault, and the number of states of the machine.
func (c setting) run(f flaw) (fault string, states int) {
	for _, bias := range []bool{true, false} {
		m := machine{bias: bias}
		for g, rounds := range c.readers {
			m.readers[g].rounds = rounds
		}
		for g, rounds := range c.writers {
			m.writers[g].rounds = rounds
		}
		x := explorer{
			stripes: c.stripes, readers: len(c.readers), writers: len(c.writers),
			flaw: f, seen: map[machine]visit{},
		}
		x.explore(m)
		states += len(x.seen)
		if x.fault != "" {
			return x.fault, states
		}
	}
	return "", states
}

// settings are explored in this order, the small ones first.
var settings = []setting{
	{1, []int8{2}, []int8{2}},
	{2, []int8{2}, []int8{2}},
	{1, []int8{1, 1}, []int8{1}},
	{2, []int8{1, 1}, []int8{1}},
	{1, []int8{1}, []int8{1, 1}},
	{2, []int8{2}, []int8{1, 1}},
	{1, []int8{1, 1}, []int8{1, 1}},
	{1, []int8{2, 1}, []int8{2}},
	{1, []int8{2, 2}, []int8{2}},
	{2, []int8{1, 1}, []int8{1, 1}},
	{2, []int8{2, 2}, []int8{2}},
	{1, []int8{2, 2}, []int8{2, 1}},
}

// TestAllInterleavings explores the machine as it is. No order of steps has a cycle, and none
// ends before all goroutines have finished, so every goroutine finishes whatever others do.
func TestAllInterleavings(t *testing.T) {
	for _, c := range settings {
		fault, states := c.run(flawless)
		t.Logf("%d stripes, rounds of readers %v, of writers %v: %d states", c.stripes, c.readers, c.writers, states)
		if fault != "" {
			t.Errorf("%+v: %s", c, fault)
		}
	}
}

// TestInterleavingsShowFlaws explores each mutation of the machine, until a setting shows
// what is wrong with it.
func TestInterleavingsShowFlaws(t *testing.T) {
	for name, c := range map[string]struct {
		flaw  flaw
		fault string
	}{
		"noSecondLook":     {noSecondLook, "a writer is inside beside a reader"},
		"staysInStripe":    {staysInStripe, "reader 0 waits for ever"},
		"countsInVain":     {countsInVain, "a writer does not count all hits"},
		"leavesAsleep":     {leavesAsleep, "reader 0 waits for ever"},
		"allWakersClose":   {allWakersClose, "a channel that is not open is closed"},
		"wakesForAnother":  {wakesForAnother, "a writer is inside beside a reader"},
		"unmarksByStore":   {unmarksByStore, "a writer does not count all hits"},
		"biasStays":        {biasStays, "the bias is on while a writer is inside"},
		"biasGoesLate":     {biasGoesLate, "a writer is inside beside a reader"},
		"noDrain":          {noDrain, "a writer is inside beside a reader"},
		"drainsOneStripe":  {drainsOneStripe, "a writer is inside beside a reader"},
		"marksTooEarly":    {marksTooEarly, "writer 0 waits for ever"},
		"sleepsUnseen":     {sleepsUnseen, "writer 0 waits for ever"},
		"sleepsAlone":      {sleepsAlone, "writer 0 waits for ever"},
		"goesAhead":        {goesAhead, "a channel that is not open is closed"},
		"restoresTooEarly": {restoresTooEarly, "the bias is on while a writer is inside"},
		"restoresTooLate":  {restoresTooLate, "the bias is on while a writer is inside"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range settings {
				fault, _ := s.run(c.flaw)
				if fault == "" {
					continue
				}
				if !strings.HasPrefix(fault, c.fault+", after") {
					t.Errorf("%+v: want %q, not %s", s, c.fault, fault)
				}
				return
			}
			t.Error("not found out")
		})
	}
}
