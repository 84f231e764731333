package lincheck

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// TestSurvey: a survey names the faults of wrong caches, with an example of each.
//
// Catches: a fault taken for another, and an example that does not have it.
func TestSurvey(t *testing.T) {
	expires := Promises{Expire: time.Millisecond}
	for _, c := range []struct {
		want   Faults
		p      Promises
		w      Workload
		broken func() *Subject
	}{
		{Lags, Promises{}, lasting, lateSet},
		{Loses, Promises{}, lasting, losesSet},
		{Stale, Promises{}, lasting, staleCopy},
		{LoadUndoesDel, Promises{}, lasting, loadUndoesDel},
		{LoadUndoesDel, Promises{}, lasting, loadUndoesClear},
		{LoadUndoesSet, Promises{}, lasting, loadUndoesSet},
		{LoadsTwice, Promises{}, lasting, twoLoads},
		{Splits, Promises{}, lasting, computeInTwo},
		{Splits, Promises{}, lasting, getOrSetInTwo},
		{Misreports, Promises{}, lasting, misreports},
		{Overstays, expires, mortal, func() *Subject { return lives(2 * time.Millisecond) }},
		{Revives, expires, mortal, touchRevives},
	} {
		t.Run(c.want.String(), func(t *testing.T) {
			s := &Survey{Promises: c.p}
			s.Run(c.broken(), c.w, seed(), func(n int) bool { return n < 5000 && s.count(c.want) == 0 })
			for _, f := range s.Found {
				t.Logf("%v in %d of %d histories", f.Fault, f.Histories, s.Histories)
				ops := operations(f.Example.History)
				if verdict(c.p, ops) != porcupine.Illegal || explain(c.p, ops)&f.Fault != f.Fault {
					t.Errorf("the example of %v does not have it:\n%v", f.Fault, f.Example)
				}
			}
			if s.count(c.want) == 0 {
				t.Errorf("%v was not found in %d histories", c.want, s.Histories)
			}
		})
	}
}

func (s *Survey) count(fault Faults) int {
	for _, f := range s.Found {
		if f.Fault == fault {
			return f.Histories
		}
	}
	return 0
}

// misreports answers Del at random.
func misreports() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.Del = func(key int) bool {
		n.del(key)
		return rand.IntN(2) == 0
	}
	return s
}

// TestCuts: the parts of right histories that shorten tries are right.
//
// Catches: an example that is wrong only because something was left out.
func TestCuts(t *testing.T) {
	for _, c := range []struct {
		p Promises
		w Workload
		n *naive
	}{
		{Promises{}, lasting, newNaive(0, 0)},
		{Promises{Evicts: true}, crowded, newNaive(3, 0)},
	} {
		for number := range 60 {
			random := rand.New(rand.NewPCG(seed(), uint64(number)))
			history := newRound(c.n.subject(), c.p, c.w, random, int64(number)).record(random)
			for _, part := range byKey(operations(history)) {
				var ops []Op
				for _, o := range part {
					ops = append(ops, o.Input.(Op))
				}
				cutEverywhere(t, c.p, sorted(ops))
			}
		}
	}
}

// TestCutOfUnended: an operation that had not ended at the cut may have its answer from one
// that is cut off.
func TestCutOfUnended(t *testing.T) {
	cutEverywhere(t, Promises{}, []Op{at(0, 1, nothing), at(2, 3, miss), at(10, 30, del), at(20, 21, set(1)), at(22, 23, hit(1)), at(31, 32, miss)})
}

func cutEverywhere(t *testing.T, p Promises, history []Op) {
	t.Helper()
	right := func(cut string, h []Op) {
		if verdict(p, operations(h)) != porcupine.Ok {
			t.Fatalf("%s is wrong:\n%v\nof\n%v", cut, h, history)
		}
	}
	for n := 2; n < len(history); n++ {
		if h, ok := prefix(history, history[n].Call, n); ok {
			right("the beginning", h)
		}
	}
	for n := 1; n < len(history)-1; n++ {
		if beginsAnew(history, n) {
			right("the end", history[n:])
		}
		if history[n].onlyReads() {
			right("all but a read", append(append([]Op{}, history[:n]...), history[n+1:]...))
		}
	}
}
