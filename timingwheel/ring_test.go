package timingwheel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the naive wheel: every task with the tick at which it is due, and
// those that are held, oldest first.
type model struct {
	now  int64
	due  map[uint32]int64
	held []held
}

type held struct {
	task uint32
	due  int64
}

// take takes a task out of those that are held.
func (m *model) take(i uint32) {
	m.held = slices.DeleteFunc(m.held, func(h held) bool { return h.task == i })
}

func (m *model) set(i uint32, due int64) {
	m.take(i)
	m.due[i] = max(due, m.now+1)
}

func (m *model) remove(i uint32) {
	m.take(i)
	delete(m.due, i)
}

// advance returns the tasks due up to a tick, in order of their ticks.
func (m *model) advance(to int64) [][]uint32 {
	var fired [][]uint32
	for m.now < to {
		m.now++
		var at []uint32
		for i, due := range m.due {
			if due == m.now {
				at = append(at, i)
				delete(m.due, i)
			}
		}
		slices.Sort(at)
		fired = append(fired, at)
	}
	return fired
}

// advance is the same for a ring, visiting at most budget tasks per call.
func advance(r *Ring, to int64, budget int) [][]uint32 {
	fired := make([][]uint32, max(0, to-r.Now()))
	start := r.Now()
	for !r.Advance(to, budget, func(i uint32) int64 {
		k := r.Now() - start - 1
		fired[k] = append(fired[k], i)
		return 0
	}) {
	}
	for _, at := range fired {
		slices.Sort(at)
	}
	return fired
}

// check verifies what must hold of a ring between any two calls.
func check(r *Ring) error {
	c := checker{r: r, seen: map[uint32]bool{}}
	for l := range r.levels {
		if err := c.level(l); err != nil {
			return err
		}
	}
	if err := c.due(); err != nil {
		return err
	}
	for i := range r.tasks {
		if !c.seen[uint32(i)] && r.tasks[i] != (task{}) {
			return fmt.Errorf("task %d is in no list and not zero: %+v", i, r.tasks[i])
		}
	}
	if c.live != r.live || c.removed != r.removed {
		return fmt.Errorf("%d live and %d removed tasks, counted %d and %d", c.live, c.removed, r.live, r.removed)
	}
	return nil
}

type checker struct {
	r             *Ring
	seen          map[uint32]bool
	live, removed int
}

// level verifies the lists of a level, and that its bitmap is true.
func (c *checker) level(l int) error {
	r, lv := c.r, &c.r.levels[l]
	kind, unit := uint16(inCircle), int64(1)
	if l == 1 {
		kind, unit = inOverflow, r.slots()
	}
	if err := c.list(lv.scan, kind, 0); err != nil {
		return err
	}
	if lv.heads == nil {
		return nil
	}
	now := r.now / unit
	for tick := now + 1; tick <= now+r.slots(); tick++ {
		p := lv.slot(tick)
		if err := c.list(lv.heads[p], kind, tick*unit-r.now); err != nil {
			return err
		}
		if got, want := lv.occupied[p/64]>>(p%64)&1 == 1, lv.heads[p] != none; got != want {
			return fmt.Errorf("level %d, slot %d: occupied %v, want %v", l, p, got, want)
		}
	}
	return nil
}

// list verifies one list, whose tasks are visited dist ticks from now.
func (c *checker) list(head uint32, kind uint16, dist int64) error {
	last := uint32(none)
	for i := head; i != none; i = c.r.tasks[i].next {
		t := &c.r.tasks[i]
		switch {
		case c.seen[i]:
			return fmt.Errorf("task %d is in two lists", i)
		case t.prev != last:
			return fmt.Errorf("task %d: prev is %d, want %d", i, t.prev, last)
		case t.list() != kind:
			return fmt.Errorf("task %d is in a list of kind %x, marked %x", i, kind, t.list())
		case c.r.dist(t) != dist:
			return fmt.Errorf("task %d: distance %d in a list at distance %d", i, c.r.dist(t), dist)
		case t.diff != tombstone && int64(t.diff&^hasShortcut) >= c.r.slots():
			return fmt.Errorf("task %d: diff %d of %d", i, t.diff, c.r.slots())
		}
		c.seen[i] = true
		last = i
		if t.diff == tombstone {
			c.removed++
		} else {
			c.live++
		}
	}
	return nil
}

// due verifies the due list.
func (c *checker) due() error {
	d, n := &c.r.due, 0
	for place := d.head; place != d.tail; place++ {
		i := *d.at(place)
		if i == none {
			continue
		}
		t := &c.r.tasks[i]
		switch {
		case c.seen[i]:
			return fmt.Errorf("task %d is in two lists", i)
		case t.list() != inDue || t.place() != place || t.diff != 0:
			return fmt.Errorf("task %d has place %d of the due list, marked %+v", i, place, *t)
		}
		c.seen[i] = true
		c.live++
		n++
	}
	if n != d.len {
		return fmt.Errorf("%d tasks in the due list, counted %d", n, d.len)
	}
	return nil
}

// checkAgainst verifies invariant R for every task of the model.
func checkAgainst(r *Ring, m *model) error {
	if got, want := r.Len(), len(m.due)+len(m.held); got != want {
		return fmt.Errorf("Len is %d, want %d", got, want)
	}
	if got, want := r.Held(), len(m.held); got != want {
		return fmt.Errorf("Held is %d, want %d", got, want)
	}
	next := int64(math.MaxInt64)
	for i := range r.tasks {
		due, ok := r.Due(uint32(i))
		want, wantOK := m.due[uint32(i)]
		for _, h := range m.held {
			if h.task == uint32(i) {
				want, wantOK = h.due, true
			}
		}
		if ok != wantOK || ok && due != want {
			return fmt.Errorf("task %d: due %d %v, want %d %v", i, due, ok, want, wantOK)
		}
		if ok && due > m.now {
			next = min(next, due)
		}
	}
	if at, ok := r.NextVisit(); ok != (r.Len()-r.Held()+r.Tombstones() > 0) || ok && at > next {
		return fmt.Errorf("NextVisit is %d %v, but a task is due at %d", at, ok, next)
	}
	return check(r)
}

// ringAt returns a ring whose cursor stands at the given tick.
func ringAt(slots, tasks int, now int64) (*Ring, *model) {
	r := NewRing(slots)
	r.Resize(tasks)
	r.Advance(now, 1, nil)
	return r, &model{now: now, due: map[uint32]int64{}}
}

// TestNewRingRoundsUpAndRefuses checks that NewRing rounds slots up to a power of two, and
// panics if they are out of range.
func TestNewRingRoundsUpAndRefuses(t *testing.T) {
	for slots, want := range map[int]int{1: 1, 2: 2, 3: 4, 300: 512, MaxSlots: MaxSlots} {
		if got := NewRing(slots).slots(); got != int64(want) {
			t.Errorf("NewRing(%d) has %d slots, want %d", slots, got, want)
		}
	}
	for _, slots := range []int{0, -1, MaxSlots + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewRing(%d) did not panic", slots)
				}
			}()
			NewRing(slots)
		}()
	}
}

// TestRingExhaustive tries every sequence of set, wait, move, wait, move of one
// task on rings of one to eight slots, from every position of the cursor.
func TestRingExhaustive(t *testing.T) {
	for n, span := range map[int]int64{1: 5, 2: 7, 4: 11, 8: 18} {
		for cursor := range int64(n) {
			for a := range span {
				for wait1 := range int64(n) + 1 {
					for b := range span {
						exhaust(t, n, cursor, a, wait1, b, 0, b)
						if n == 8 {
							continue // two moves take too long here
						}
						for wait2 := range int64(n) + 1 {
							for c := range span {
								exhaust(t, n, cursor, a, wait1, b, wait2, c)
							}
						}
					}
				}
			}
		}
	}
}

func exhaust(t *testing.T, n int, cursor, a, wait1, b, wait2, c int64) {
	r, m := ringAt(n, 1, cursor)
	set := func(wait int64) { r.Set(0, r.Now()+wait); m.set(0, m.now+wait) }
	run := func(ticks int64) {
		to := m.now + ticks
		got, want := advance(r, to, math.MaxInt), m.advance(to)
		if !slices.EqualFunc(got, want, slices.Equal[[]uint32]) {
			t.Fatalf("n %d, cursor %d: set %d, wait %d, set %d, wait %d, set %d: fired %v, want %v",
				n, cursor, a, wait1, b, wait2, c, got, want)
		}
	}
	set(a)
	run(wait1)
	set(b)
	run(wait2)
	set(c)
	run(4*int64(n) + 4)
	if err := checkAgainst(r, m); err != nil {
		t.Fatal(err)
	}
}

// TestRingModel runs random operations on a few tasks of a small ring against
// the model, with the cursor anywhere and Advance stopping for lack of budget.
func TestRingModel(t *testing.T) { rapid.Check(t, ringModel) }

// FuzzRing is TestRingModel with operations chosen by the fuzzer.
func FuzzRing(f *testing.F) { f.Fuzz(rapid.MakeFuzz(ringModel)) }

func ringModel(t *rapid.T) {
	const tasks = 5
	n := rapid.IntRange(1, 12).Draw(t, "slots")
	r, m := ringAt(n, tasks, rapid.Int64Range(0, 100).Draw(t, "cursor"))
	number := rapid.Uint32Range(0, tasks-1)
	wait := rapid.OneOf(rapid.Int64Range(-2, int64(4*n)), rapid.Int64Range(0, int64(3*n*n)))
	ticks := rapid.OneOf(rapid.Int64Range(0, int64(3*n)), rapid.Int64Range(0, int64(2*n*n)))
	t.Repeat(map[string]func(*rapid.T){
		"set": func(t *rapid.T) {
			i, due := number.Draw(t, "task"), m.now+wait.Draw(t, "wait")
			r.Set(i, due)
			m.set(i, due)
		},
		"remove": func(t *rapid.T) {
			i := number.Draw(t, "task")
			r.Remove(i)
			m.remove(i)
		},
		"forget": func(t *rapid.T) {
			i := number.Draw(t, "task")
			r.Forget(i)
			m.remove(i)
		},
		"rename": func(t *rapid.T) {
			from, to := number.Draw(t, "from"), number.Draw(t, "to")
			if _, live := r.Due(to); live || from == to {
				return
			}
			r.Rename(from, to)
			for k := range m.held {
				if m.held[k].task == from {
					m.held[k].task = to
				}
			}
			if due, ok := m.due[from]; ok {
				delete(m.due, from)
				m.due[to] = due
			}
		},
		"advance": func(t *rapid.T) {
			to := m.now + ticks.Draw(t, "ticks")
			got := advance(r, to, rapid.IntRange(1, 3).Draw(t, "budget"))
			if want := m.advance(to); !slices.EqualFunc(got, want, slices.Equal[[]uint32]) {
				t.Fatalf("fired %v, want %v", got, want)
			}
		},
		"advance and hold": func(t *rapid.T) {
			to := m.now + ticks.Draw(t, "ticks")
			start, before := m.now, len(m.held)
			for !r.Advance(to, 2, func(i uint32) int64 {
				m.held = append(m.held, held{i, r.Now()})
				return Hold
			}) {
			}
			fired := 0
			for k, at := range m.advance(to) {
				for _, i := range at {
					if h := (held{i, start + int64(k) + 1}); !slices.Contains(m.held[before:], h) {
						t.Fatalf("task %d, due at %d, is not held: %v", h.task, h.due, m.held)
					}
					fired++
				}
			}
			if got := len(m.held) - before; got != fired {
				t.Fatalf("%d tasks are held, want %d: %v", got, fired, m.held[before:])
			}
		},
		"take": func(t *rapid.T) {
			i, due, ok := r.Take()
			if ok != (len(m.held) > 0) || ok && (held{i, due} != m.held[0]) {
				t.Fatalf("Take returned %d, %d, %v, held are %v", i, due, ok, m.held)
			}
			if ok {
				m.held = m.held[1:]
			}
		},
		"advance in parts": func(t *rapid.T) { advanceInParts(t, r, m, number, wait) },
		"": func(t *rapid.T) {
			if err := checkAgainst(r, m); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// advanceInParts processes one tick with a budget of one task at a time and
// changes tasks in between: those not visited yet can still get away, those set
// meanwhile must wait for a later tick.
func advanceInParts(t *rapid.T, r *Ring, m *model, number *rapid.Generator[uint32], wait *rapid.Generator[int64]) {
	tick := m.now + 1
	pending := map[uint32]int64{} // the model, with the tick under way
	for i, due := range m.due {
		pending[i] = due
	}
	m.now = tick
	visited := func(i uint32) int64 {
		if pending[i] != tick {
			t.Fatalf("task %d fired at %d, want %d", i, tick, pending[i])
		}
		delete(pending, i)
		return 0
	}
	for !r.Advance(tick, 1, visited) {
		if err := check(r); err != nil {
			t.Fatal(err)
		}
		i := number.Draw(t, "task")
		switch rapid.IntRange(0, 2).Draw(t, "between") {
		case 0:
			due := tick + wait.Draw(t, "wait")
			r.Set(i, due)
			pending[i] = max(due, tick+1)
			m.take(i)
		case 1:
			r.Remove(i)
			m.take(i)
			delete(pending, i)
		}
	}
	for i, due := range pending {
		if due <= tick {
			t.Fatalf("task %d, due at %d, did not fire", i, due)
		}
	}
	m.due = pending
}

// TestRingSlidingExpiry checks a visitor that postpones a task again and again, as for a
// sliding expiry.
func TestRingSlidingExpiry(t *testing.T) {
	r, _ := ringAt(4, 1, 3)
	r.Set(0, 5)
	puts := []int64{1, 4, 9, 0}
	var visits []int64
	r.Advance(100, math.MaxInt, func(uint32) int64 {
		visits = append(visits, r.Now())
		k := puts[0]
		puts = puts[1:]
		return k
	})
	if want := []int64{5, 6, 10, 19}; !slices.Equal(visits, want) {
		t.Errorf("visited at %v, want %v", visits, want)
	}
	if r.Len() != 0 {
		t.Errorf("%d tasks left", r.Len())
	}
}

// TestRingTombstonesGo checks that tombstones are dropped within a revolution of their
// level, also that of a task that was due far away.
func TestRingTombstonesGo(t *testing.T) {
	for due, revolution := range map[int64]int64{5 + 8: 8, 1000: 8 * 8} {
		r, _ := ringAt(8, 1, 5)
		r.Set(0, due)
		r.Remove(0)
		r.Advance(5+revolution, math.MaxInt, nil)
		if r.Tombstones() != 0 {
			t.Errorf("due at %d: a tombstone is left after a revolution", due)
		}
	}
}

// visitsTo advances the ring and counts the visits.
func visitsTo(r *Ring, to int64, visit func(uint32) int64) (visits int64) {
	for !r.Advance(to, 0, nil) {
		visits++
		r.Advance(r.Now(), 1, visit)
	}
	return visits
}

// TestRingVisits counts the visits of a task with a long delay: two as far as
// the overflow level reaches, and one more for each of its revolutions.
func TestRingVisits(t *testing.T) {
	for _, c := range []struct{ slots, delay, most int64 }{
		{512, 500, 1},
		{512, 36_000, 2},
		{512, 864_000, 5},
		{256, 86_400, 3},
		{256, 604_800, 11},
		{1, 5, 5},
	} {
		for cursor := range int64(50) {
			r, _ := ringAt(int(c.slots), 1, cursor*37)
			r.Set(0, r.Now()+c.delay)
			visits := visitsTo(r, r.Now()+c.delay, func(uint32) int64 { return 0 })
			if visits > c.most || r.Len() != 0 {
				t.Errorf("%d slots, delay %d: %d visits, want at most %d", c.slots, c.delay, visits, c.most)
			}
		}
	}
}

// TestRingRefreshIsLazy counts visits of a keep-alive that is refreshed at every
// beat: it is visited once per timeout, not once per refresh, also if it is in
// the overflow level.
func TestRingRefreshIsLazy(t *testing.T) {
	for _, c := range []struct{ slots, timeout, beat, ticks, most int64 }{
		{60, 30, 1, 600, 20},
		{60, 3600, 60, 40_000, 24},
	} {
		r, _ := ringAt(int(c.slots), 1, 0)
		visits := int64(0)
		r.Set(0, c.timeout)
		for tick := int64(1); tick <= c.ticks; tick++ {
			visits += visitsTo(r, tick, func(uint32) int64 { t.Fatal("fired"); return 0 })
			if tick%c.beat == 0 {
				r.Set(0, tick+c.timeout)
			}
		}
		if visits > c.most {
			t.Errorf("%d slots, timeout %d, beat %d: %d visits in %d ticks, want %d", c.slots, c.timeout, c.beat, visits, c.ticks, c.most)
		}
	}
}

// TestRingCatchesUp checks that a stall of 10¹² ticks costs one visit per task.
func TestRingCatchesUp(t *testing.T) {
	r, _ := ringAt(512, 100, 0)
	for i := range uint32(100) {
		r.Set(i, int64(i)+1)
	}
	var order []uint32
	r.Advance(1e12, math.MaxInt, func(i uint32) int64 { order = append(order, i); return 0 })
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("fired %v, want 0 to 99 in order", order)
	}
	if r.Now() != 1e12 {
		t.Errorf("Now is %d", r.Now())
	}
}

// TestRingDoesNotAllocate checks that Set, Remove and Advance allocate nothing.
func TestRingDoesNotAllocate(t *testing.T) {
	r, _ := ringAt(512, 1000, 0)
	k := int64(0)
	visit := func(uint32) int64 { return 7 }
	if allocs := testing.AllocsPerRun(1000, func() {
		k++
		r.Set(uint32(k%1000), r.Now()+k%900)
		r.Remove(uint32(k * 7 % 1000))
		r.Advance(r.Now()+1, 10, visit)
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestRingHoldAfterSet checks that a task that the visitor sets, and then holds by its
// result, is held.
func TestRingHoldAfterSet(t *testing.T) {
	r, _ := ringAt(8, 2, 0)
	r.Set(0, 3)
	r.Advance(3, 10, func(i uint32) int64 {
		r.Set(i, 5)
		return Hold
	})
	if err := check(r); err != nil {
		t.Error(err)
	}
	if i, due, ok := r.Take(); !ok || i != 0 || due != 3 || r.Len() != 0 {
		t.Errorf("Take returned %d, %d, %v; %d left", i, due, ok, r.Len())
	}
}
