package timingwheel

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A keeper is a caller that keeps by itself when tasks are due, and tells the ring
// only what it must: when a task is wanted before the ring visits it.
type keeper struct {
	*Ring
	due   map[uint32]int64
	held  []held
	visit map[uint32]int64 // the announced visit, before a call of AdvanceAll
	told  map[uint32]int64 // when tasks visited in that call are due, as the ring was told
	early int              // visits before a task was due
}

func newKeeper(slots, tasks int, now int64) *keeper {
	r, _ := ringAt(slots, tasks, now)
	return &keeper{Ring: r, due: map[uint32]int64{}}
}

// set makes a task due at a tick, and tells the ring.
func (k *keeper) set(i uint32, due int64) {
	k.Set(i, due)
	k.drop(i)
	k.due[i] = max(due, k.Now()+1)
}

// drop forgets a task. The ring must be told too.
func (k *keeper) drop(i uint32) {
	delete(k.due, i)
	k.held = slices.DeleteFunc(k.held, func(h held) bool { return h.task == i })
}

// advance goes on to a tick, or until budget tasks are visited. Those that are due
// are done with, or held; with sets, the others are set again instead of answering
// how long they have to wait.
func (k *keeper) advance(to int64, budget int, hold, sets bool) (done bool, err error) {
	k.visit, k.told = map[uint32]int64{}, map[uint32]int64{}
	for i := range k.due {
		k.visit[i], _ = k.Visit(i)
	}
	visits := 0
	done = k.AdvanceAll(to, budget, func(i uint32) int64 {
		visits++
		if wrong := k.wrongVisit(i, to); wrong != nil && err == nil {
			err = wrong
		}
		due := k.due[i]
		switch {
		case due > k.Now() && sets:
			k.early++
			k.told[i] = due
			k.Set(i, due)
			return 0
		case due > k.Now():
			k.early++
			k.told[i] = due
			return due - k.Now()
		}
		k.drop(i)
		delete(k.told, i)
		if hold {
			k.held = append(k.held, held{i, k.Now()})
			return Hold
		}
		return 0
	})
	switch {
	case err != nil:
	case visits > budget:
		err = fmt.Errorf("%d visits with a budget of %d", visits, budget)
	case done && k.Now() < to:
		err = fmt.Errorf("done at tick %d of %d", k.Now(), to)
	}
	for i, want := range k.told {
		if due, ok := k.Due(i); err == nil && (!ok || due != want) {
			err = fmt.Errorf("task %d is due at %d, %v, and the visitor said %d", i, due, ok, want)
		}
	}
	if next, ok := k.NextVisit(); err == nil && done && ok && next <= k.Now() {
		err = fmt.Errorf("done, and a task is to be visited at %d, at %d", next, k.Now())
	}
	return done, err
}

// wrongVisit returns what is wrong with the visit that is under way.
func (k *keeper) wrongVisit(i uint32, to int64) error {
	due, waits := k.due[i]
	switch said, ok := k.visit[i]; {
	case !waits:
		return fmt.Errorf("task %d, which does not wait, is visited", i)
	case k.Now() > to:
		return fmt.Errorf("task %d is visited at %d, after %d", i, k.Now(), to)
	case k.Now() > due:
		return fmt.Errorf("task %d is visited at %d, and is due at %d", i, k.Now(), due)
	case ok && said != k.Now():
		return fmt.Errorf("task %d is visited at %d, and Visit said %d", i, k.Now(), said)
	}
	delete(k.visit, i) // the next visit in this call has no tick foretold
	return nil
}

// check verifies that no task is lost, and that the ring visits each in time.
func (k *keeper) check() error {
	if k.Len() != len(k.due)+len(k.held) || k.Held() != len(k.held) {
		return fmt.Errorf("%d tasks, %d of them held; want %d and %d", k.Len(), k.Held(), len(k.due)+len(k.held), len(k.held))
	}
	next := int64(math.MaxInt64)
	for i := range uint32(len(k.tasks)) {
		due, waits := k.due[i]
		visit, ok := k.Visit(i)
		if ok != waits || waits && (visit > due || visit < k.Now()) {
			return fmt.Errorf("the ring, at %d, comes by task %d at %d %v, want %d at the latest, %v", k.Now(), i, visit, ok, due, waits)
		}
		if waits {
			next = min(next, visit)
		}
	}
	if at, ok := k.NextVisit(); len(k.due) > 0 && (!ok || at > next) {
		return fmt.Errorf("NextVisit is %d %v, but a task is visited at %d", at, ok, next)
	}
	return check(k.Ring)
}

// TestRingAllModel compares AdvanceAll with a model, on random operations on a few tasks
// of a small ring. The budget often runs out in the middle of a tick.
func TestRingAllModel(t *testing.T) { rapid.Check(t, ringAllModel) }

// FuzzRingAll is TestRingAllModel with operations chosen by the fuzzer.
func FuzzRingAll(f *testing.F) { f.Fuzz(rapid.MakeFuzz(ringAllModel)) }

func ringAllModel(t *rapid.T) {
	const tasks = 5
	n := rapid.IntRange(1, 12).Draw(t, "slots")
	k := newKeeper(n, tasks, rapid.Int64Range(0, 100).Draw(t, "cursor"))
	number := rapid.Uint32Range(0, tasks-1)
	wait := rapid.OneOf(rapid.Int64Range(-2, int64(4*n)), rapid.Int64Range(0, int64(3*n*n)))
	t.Repeat(map[string]func(*rapid.T){
		"set": func(t *rapid.T) { k.set(number.Draw(t, "task"), k.Now()+wait.Draw(t, "wait")) },
		"put off": func(t *rapid.T) {
			i := number.Draw(t, "task")
			if _, ok := k.due[i]; ok {
				k.due[i] += max(0, wait.Draw(t, "by"))
			}
		},
		"bring forward": func(t *rapid.T) {
			i := number.Draw(t, "task")
			if visit, ok := k.Visit(i); ok {
				k.due[i] = rapid.Int64Range(visit, k.due[i]).Draw(t, "to")
			}
		},
		"remove": func(t *rapid.T) {
			i := number.Draw(t, "task")
			k.Remove(i)
			k.drop(i)
		},
		"forget": func(t *rapid.T) {
			i := number.Draw(t, "task")
			k.Forget(i)
			k.drop(i)
		},
		"rename": func(t *rapid.T) {
			from, to := number.Draw(t, "from"), number.Draw(t, "to")
			if _, waits := k.Due(to); !waits && from != to {
				k.rename(from, to)
			}
		},
		"take": func(t *rapid.T) {
			if i, due, ok := k.Take(); ok != (len(k.held) > 0) || ok && (held{i, due} != k.held[0]) {
				t.Fatalf("Take returned %d, %d, %v, held are %v", i, due, ok, k.held)
			} else if ok {
				k.held = k.held[1:]
			}
		},
		"advance": func(t *rapid.T) {
			to, budget := k.Now()+max(0, wait.Draw(t, "ticks")), rapid.IntRange(0, 3).Draw(t, "budget")
			_, err := k.advance(to, budget, rapid.Bool().Draw(t, "hold"), rapid.Bool().Draw(t, "sets"))
			if err != nil {
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
		delete(k.due, from)
		k.due[to] = due
	}
}

// TestRingAllExhaustive tries, for one task on rings of one to eight slots, every
// tick that it can be set for, moved to, and then put off to without telling the
// ring, from every position of the cursor.
func TestRingAllExhaustive(t *testing.T) {
	for n, span := range map[int]int64{1: 6, 2: 12, 4: 36, 8: 140} {
		early := 0
		for cursor := range int64(n) {
			for set := int64(1); set < span; set++ {
				for moved := int64(1); moved < span; moved++ {
					if n == 8 && moved != set {
						continue // a move takes too long here
					}
					for due := moved; due < span; due++ {
						early += exhaustAll(t, n, cursor, set, moved, due)
					}
				}
			}
		}
		if early == 0 {
			t.Errorf("n %d: no task was visited before it was due", n)
		}
	}
}

// exhaustAll has a task done with at the tick that it was put off to, and not
// before. It returns how often it was visited before.
func exhaustAll(t *testing.T, n int, cursor, set, moved, due int64) (early int) {
	k := newKeeper(n, 1, cursor)
	k.set(0, cursor+set)
	k.set(0, cursor+moved)
	k.due[0] = cursor + due
	for _, to := range []int64{cursor + due - 1, cursor + due} {
		done, err := k.advance(to, math.MaxInt, false, false)
		if waits := to < cursor+due; err != nil || !done || (k.Len() == 1) != waits {
			t.Fatalf("n %d, cursor %d, set %d, moved to %d, put off to %d: at %d, %d waits; %v, %v",
				n, cursor, set, moved, due, to, k.Len(), done, err)
		}
	}
	return k.early
}

// TestRingAllHandsOverEarly: what Advance deals with by itself, AdvanceAll hands
// over: a task in the overflow level when its revolution begins, and one that was
// moved and has stayed in its slot. What the visitor answers counts, and not when
// the ring was told that the task is due.
func TestRingAllHandsOverEarly(t *testing.T) {
	for name, c := range map[string]struct {
		sets []int64
		due  int64 // as the visitor has it
		all  []int64
		one  []int64 // by Advance
	}{
		"circle":              {[]int64{26}, 26, []int64{26}, []int64{26}},
		"circle, moved":       {[]int64{26, 50}, 50, []int64{26, 48, 50}, []int64{50}},
		"circle, put off":     {[]int64{26}, 60, []int64{26, 56, 60}, []int64{26, 60}},
		"overflow":            {[]int64{45}, 45, []int64{40, 45}, []int64{45}},
		"overflow, moved":     {[]int64{45, 47}, 47, []int64{40, 47}, []int64{47}},
		"overflow, put back":  {[]int64{45, 41, 43}, 43, []int64{40, 43}, []int64{43}},
		"overflow, put off":   {[]int64{45}, 47, []int64{40, 47}, []int64{45, 47}},
		"overflow, forwarded": {[]int64{45}, 41, []int64{40, 41}, []int64{45}},
		"further":             {[]int64{100}, 100, []int64{80, 96, 100}, []int64{100}},
	} {
		visits := func(advance func(*Ring, int64, int, func(uint32) int64) bool) (visits []int64) {
			r, _ := ringAt(8, 1, 21)
			for _, due := range c.sets {
				r.Set(0, due)
			}
			if got, ok := r.Visit(0); got != c.all[0] || !ok {
				t.Errorf("%s: Visit is %d, %v, want %d", name, got, ok, c.all[0])
			}
			advance(r, 200, math.MaxInt, func(uint32) int64 {
				visits = append(visits, r.Now())
				return max(0, c.due-r.Now())
			})
			return visits
		}
		if got := visits((*Ring).AdvanceAll); !slices.Equal(got, c.all) {
			t.Errorf("%s: AdvanceAll visits at %v, want %v", name, got, c.all)
		}
		if got := visits((*Ring).Advance); !slices.Equal(got, c.one) {
			t.Errorf("%s: Advance visits at %v, want %v", name, got, c.one)
		}
	}
}

// TestRingAllLosesNothing: of many tasks, set, put off, moved and removed at random
// on a ring that they fill, each is done with at its tick.
func TestRingAllLosesNothing(t *testing.T) {
	const tasks, ticks = 1000, 3000
	k := newKeeper(64, tasks, 17)
	next := uint64(1)
	random := func(n int64) int64 {
		next = next*6364136223846793005 + 1442695040888963407
		return int64(next>>33) % n
	}
	for k.Now() < ticks {
		for range 20 {
			i := uint32(random(tasks))
			switch _, waits := k.due[i]; {
			case !waits || random(4) == 0:
				k.set(i, k.Now()+random(64*80))
			case random(3) == 0:
				k.Remove(i)
				k.drop(i)
			default:
				k.due[i] += random(200)
			}
		}
		for to := k.Now() + 1; ; {
			done, err := k.advance(to, 7, false, false)
			if err != nil {
				t.Fatal(err)
			}
			if done {
				break
			}
		}
	}
	if err := k.check(); err != nil {
		t.Fatal(err)
	}
	last := slices.Max(slices.Collect(maps.Values(k.due)))
	if done, err := k.advance(last, math.MaxInt, false, false); err != nil || !done || k.Len() != 0 {
		t.Errorf("%v, %v: %d tasks are left after tick %d", done, err, k.Len(), last)
	}
	if k.early == 0 {
		t.Error("no task was visited before it was due")
	}
}
