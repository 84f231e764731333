package ring

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A keeper is the naive wheel beside a ring: every task with the tick at which it is due.
// With all, it keeps that by itself, as a caller of AdvanceAll does, and tells the ring only
// what it must: when a task is wanted before the ring visits it.
type keeper struct {
	*Ring
	all   bool
	due   map[uint32]int64
	told  map[uint32]int64 // what the ring was told
	held  []held           // the oldest first
	visit map[uint32]int64 // the announced visits, during a call of AdvanceAll
}

type held struct {
	task uint32
	due  int64
}

// ringAt returns a ring whose cursor stands at the given tick.
func ringAt(slots, tasks int, now int64) *Ring {
	r := New(slots)
	r.Resize(tasks)
	r.Advance(now, 1, nil)
	return r
}

func newKeeper(r *Ring, all bool) *keeper {
	return &keeper{Ring: r, all: all, due: map[uint32]int64{}, told: map[uint32]int64{}}
}

// note notes when a task is due, as the ring knows.
func (k *keeper) note(i uint32, due int64) {
	k.drop(i)
	k.due[i] = max(due, k.Now()+1)
	k.told[i] = k.due[i]
}

// drop forgets a task.
func (k *keeper) drop(i uint32) {
	delete(k.due, i)
	delete(k.told, i)
	delete(k.visit, i)
	k.held = slices.DeleteFunc(k.held, func(h held) bool { return h.task == i })
}

func (k *keeper) set(i uint32, due int64) {
	told := k.Set(i, due)
	if visit, ok := k.Visit(i); !ok || visit != told {
		panic(fmt.Sprintf("Set of task %d returned %d, and Visit returns %d, %v", i, told, visit, ok))
	}
	k.note(i, due)
}

// advance goes on to a tick, or until budget tasks are visited. At each visit of a task that
// is due, answer is called, whose result is that of a visitor; it may change other tasks.
func (k *keeper) advance(to int64, budget int, answer func(i uint32) int64) (done bool, err error) {
	k.visit = map[uint32]int64{}
	for i := range k.told {
		k.visit[i], _ = k.Visit(i)
	}
	advance, visits := k.Ring.Advance, 0
	if k.all {
		advance = k.AdvanceAll
	}
	done = advance(to, budget, func(i uint32) (again int64) {
		if wrong := k.wrongVisit(i, to); wrong != nil && err == nil {
			err = wrong
		}
		visits++
		due := k.due[i]
		k.drop(i)
		if again = due - k.Now(); again <= 0 {
			again = answer(i)
		}
		switch {
		case again == Hold:
			k.drop(i) // if answer has set it
			k.held = append(k.held, held{i, k.Now()})
		case again > 0:
			k.note(i, k.Now()+again)
		}
		return again
	})
	if next, ok := k.NextVisit(); err == nil && (visits > budget || done && (k.Now() < to || ok && next <= k.Now())) {
		err = fmt.Errorf("%d visits of %d, done %v at %d of %d, the next visit is at %d, %v", visits, budget, done, k.Now(), to, next, ok)
	}
	return done, err
}

// wrongVisit returns what is wrong with the visit that is under way.
func (k *keeper) wrongVisit(i uint32, to int64) error {
	now, told := k.Now(), k.told[i]
	said, ok := k.visit[i]
	_, waits := k.due[i]
	if !waits || now > to || !k.all && now != told || k.all && (now > k.due[i] || ok && now != said) {
		return fmt.Errorf("task %d, which waits %v, is visited at %d of %d; due at %d, told %d, Visit said %d, %v", i, waits, now, to, k.due[i], told, said, ok)
	}
	return nil
}

// check verifies invariant R for every task, and that the ring visits each in time.
func (k *keeper) check() error {
	if k.Len() != len(k.due)+len(k.held) || k.Held() != len(k.held) {
		return fmt.Errorf("%d tasks, %d of them held; want %d and %v", k.Len(), k.Held(), len(k.due), k.held)
	}
	want := map[uint32]int64{}
	for _, h := range k.held {
		want[h.task] = h.due
	}
	next := int64(math.MaxInt64)
	for i := range uint32(len(k.tasks)) {
		told, waits := k.told[i]
		if waits {
			want[i] = told
		}
		at, wants := want[i]
		if due, ok := k.Due(i); ok != wants || due != at {
			return fmt.Errorf("task %d is due at %d, %v, want %d, %v", i, due, ok, at, wants)
		}
		visit, ok := k.Visit(i)
		if ok != waits || waits && (visit > told || visit < k.Now() || k.all && visit > k.due[i]) {
			return fmt.Errorf("the ring, at %d, comes by task %d at %d %v, which is due at %d, %v", k.Now(), i, visit, ok, k.due[i], waits)
		}
		if waits {
			next = min(next, visit)
		}
	}
	if at, ok := k.NextVisit(); ok != (len(k.due)+k.Tombstones() > 0) || ok && at > next {
		return fmt.Errorf("NextVisit is %d %v, but a task is visited at %d", at, ok, next)
	}
	return check(k.Ring)
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

// TestNewRoundsUpAndRefuses checks that New rounds slots up to a power of two, and
// panics if they are out of range.
func TestNewRoundsUpAndRefuses(t *testing.T) {
	for slots, want := range map[int]int{1: 1, 2: 2, 3: 4, 300: 512, MaxSlots: MaxSlots} {
		if got := New(slots).slots(); got != int64(want) {
			t.Errorf("New(%d) has %d slots, want %d", slots, got, want)
		}
	}
	for _, slots := range []int{0, -1, MaxSlots + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%d) does not panic", slots)
				}
			}()
			New(slots)
		}()
	}
}

// TestRingExhaustive tries every sequence of set, wait, move, wait, move of one task on rings
// of one to eight slots, from every position of the cursor. AdvanceAll is not told of the last.
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
	for _, all := range []bool{false, true} {
		k := newKeeper(ringAt(n, 1, cursor), all)
		run := func(ticks int64) {
			done, err := k.advance(k.Now()+ticks, math.MaxInt, func(uint32) int64 { return 0 })
			if !done || err != nil {
				t.Fatalf("n %d, cursor %d: set %d, wait %d, set %d, wait %d, set %d, all %v: %v, %v",
					n, cursor, a, wait1, b, wait2, c, all, done, err)
			}
		}
		k.set(0, k.Now()+a)
		run(wait1)
		k.set(0, k.Now()+b)
		run(wait2)
		if due := k.Now() + c; all && due > k.due[0] && len(k.due) > 0 {
			k.due[0] = due
		} else {
			k.set(0, due)
		}
		run(4*int64(n) + 4)
		if err := k.check(); err != nil || k.Len() > 0 {
			t.Fatalf("%d tasks are left, %v", k.Len(), err)
		}
	}
}

// TestRingModel compares Advance or AdvanceAll with a keeper, on random operations on a few
// tasks of a small ring. The budget often runs out in the middle of a tick.
func TestRingModel(t *testing.T) { rapid.Check(t, ringModel) }

// FuzzRing is TestRingModel with operations chosen by the fuzzer.
func FuzzRing(f *testing.F) { f.Fuzz(rapid.MakeFuzz(ringModel)) }

func ringModel(t *rapid.T) {
	const tasks = 5
	n := rapid.OneOf(rapid.IntRange(1, 12), rapid.Just(100)).Draw(t, "slots")
	k := newKeeper(ringAt(n, tasks, rapid.Int64Range(0, 100).Draw(t, "cursor")), rapid.Bool().Draw(t, "all"))
	wait := rapid.OneOf(rapid.Int64Range(-2, int64(4*n)), rapid.Int64Range(0, int64(3*n*n)))
	number := rapid.Uint32Range(0, tasks-1)
	change := func(t *rapid.T) { // by anybody at any time
		i := number.Draw(t, "task")
		switch rapid.IntRange(0, 4).Draw(t, "change") {
		case 0, 1:
			k.set(i, k.Now()+wait.Draw(t, "wait"))
		case 2:
			k.Remove(i)
			k.drop(i)
		case 3:
			k.Forget(i)
			k.drop(i)
		case 4:
			due := k.Now() + wait.Draw(t, "wait")
			visit, ok := k.Visit(i)
			if want, got := ok && visit <= max(due, k.Now()+1), k.Postpone(i, due); got != want {
				t.Fatalf("Postpone of task %d to %d returned %v", i, due, got)
			} else if got {
				k.note(i, due)
			}
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"change":       change,
		"change again": change,
		"put off": func(t *rapid.T) {
			i := number.Draw(t, "task")
			if _, ok := k.due[i]; ok && k.all {
				k.due[i] += max(0, wait.Draw(t, "by"))
			}
		},
		"bring forward": func(t *rapid.T) {
			i := number.Draw(t, "task")
			if visit, ok := k.Visit(i); ok && k.all {
				k.due[i] = rapid.Int64Range(visit, k.due[i]).Draw(t, "to")
			}
		},
		"rename": func(t *rapid.T) {
			from, to := number.Draw(t, "from"), number.Draw(t, "to")
			if _, live := k.Ring.Due(to); !live && from != to {
				k.rename(from, to)
			}
		},
		"resize": func(*rapid.T) {
			used := tasks
			for used > 0 && k.tasks[used-1] == (task{}) {
				used--
			}
			k.Resize(used)
			k.Resize(tasks)
		},
		"take": func(t *rapid.T) {
			k.HeldAhead()
			oldest, at, _ := k.Oldest()
			if i, due, ok := k.Take(); oldest != i || at != due || ok != (len(k.held) > 0) || ok && (held{i, due} != k.held[0]) {
				t.Fatalf("Take returned %d, %d, %v, held are %v", i, due, ok, k.held)
			} else if ok {
				k.held = k.held[1:]
			}
		},
		"advance": func(t *rapid.T) {
			to, budget := k.Now()+max(0, wait.Draw(t, "ticks")), rapid.SampledFrom([]int{0, 1, 2, 3, math.MaxInt}).Draw(t, "budget")
			answers := rapid.SampledFrom([]int64{0, 0, Hold, 1, int64(n)})
			if _, err := k.advance(to, budget, func(uint32) int64 {
				k.Ahead()
				if rapid.Bool().Draw(t, "changes") {
					change(t)
				}
				return answers.Draw(t, "answer")
			}); err != nil {
				t.Fatal(err)
			}
		},
		"": func(t *rapid.T) {
			if err := k.check(); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func (k *keeper) rename(from, to uint32) {
	k.Rename(from, to)
	for j := range k.held {
		if k.held[j].task == from {
			k.held[j].task = to
		}
	}
	if due, ok := k.due[from]; ok {
		k.due[to], k.told[to] = due, k.told[from]
		k.drop(from)
	}
}

// TestRingTombstonesGo checks that tombstones are dropped within a revolution of their
// level, also that of a task that was due far away.
func TestRingTombstonesGo(t *testing.T) {
	for due, revolution := range map[int64]int64{5 + 8: 8, 1000: 8 * 8} {
		r := ringAt(8, 1, 5)
		r.Set(0, due)
		r.Remove(0)
		r.Advance(5+revolution, math.MaxInt, nil)
		if r.Tombstones() != 0 {
			t.Errorf("due at %d: a tombstone is left after a revolution", due)
		}
	}
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
			r := ringAt(int(c.slots), 1, cursor*37)
			r.Set(0, r.Now()+c.delay)
			visits, to := int64(0), r.Now()+c.delay
			for ; !r.Advance(to, 0, nil); visits++ {
				r.Advance(r.Now(), 1, func(uint32) int64 { return 0 })
			}
			if visits > c.most || r.Len() != 0 {
				t.Errorf("%d slots, delay %d: %d visits, want at most %d", c.slots, c.delay, visits, c.most)
			}
		}
	}
}

// TestRingCatchesUp checks that a stall of 10¹² ticks costs one visit per task.
func TestRingCatchesUp(t *testing.T) {
	r := ringAt(512, 100, 0)
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
