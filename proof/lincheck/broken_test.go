package lincheck

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestNaive: correct caches pass.
//
// Catches: a model that is too strict, and operations recorded wrongly.
func TestNaive(t *testing.T) {
	for name, c := range map[string]struct {
		cache *Subject
		p     Promises
		w     Workload
		n     int
	}{
		"no limit":  {newNaive(0, 0).subject(), Promises{}, lasting, 300},
		"evicts":    {newNaive(3, 0).subject(), Promises{Evicts: true}, crowded, 300},
		"expires":   {newNaive(0, time.Millisecond).subject(), Promises{Expire: time.Millisecond}, mortal, 40},
		"both":      {newNaive(3, time.Millisecond).subject(), Promises{Expire: time.Millisecond, Evicts: true}, fullDead, 40},
		"refreshes": {newNaive(0, 0).refreshing(), Promises{}, lasting, 300},
		"beside":    {loadsBeside(), Promises{}, lasting, 300},
	} {
		t.Run(name, func(t *testing.T) {
			r, wrong := Run(c.cache, c.p, c.w, seed(), first(c.n))
			report(t, r, wrong)
		})
	}
}

// TestBroken: faulty caches fail.
//
// Catches: a harness that cannot fail.
func TestBroken(t *testing.T) {
	evicts, expires := Promises{Evicts: true}, Promises{Expire: time.Millisecond}
	for _, c := range []struct {
		name   string
		p      Promises
		w      Workload
		broken func() *Subject
	}{
		{"Set is applied late", Promises{}, lasting, lateSet},
		{"Set is lost at times", Promises{}, lasting, losesSet},
		{"a load undoes Del", Promises{}, lasting, loadUndoesDel},
		{"a refresh undoes Del", Promises{}, lasting, refreshUndoesDel},
		{"what was removed stands in", Promises{StandsIn: true}, lasting, removedStandsIn},
		{"a load undoes Clear", Promises{}, lasting, loadUndoesClear},
		{"a load undoes DelFunc", Promises{}, lasting, loadUndoesDelFunc},
		{"two loads at once", Promises{}, lasting, twoLoads},
		{"a load undoes Del beside another", Promises{}, lasting, besideUndoesDel},
		{"Compute is two steps", Promises{}, lasting, computeInTwo},
		{"GetOrSet is two steps", Promises{}, lasting, getOrSetInTwo},
		{"evicts though it must not", Promises{}, crowded, func() *Subject { return newNaive(3, 0).subject() }},
		{"the evicted come back", evicts, crowded, comesBack},
		{"reads after the deadline", expires, mortal, func() *Subject { return lives(11 * time.Millisecond / 10) }},
		{"expires early", expires, mortal, func() *Subject { return lives(300 * time.Microsecond) }},
		{"Touch revives", expires, mortal, touchRevives},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, wrong := Run(c.broken(), c.p, c.w, seed(), first(5000))
			if wrong == nil {
				t.Fatalf("passed: %+v", r)
			}
			t.Logf("found in history %d", wrong.Number)
		})
	}
}

func lateSet() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.Set = func(key int, value int64) { go n.set(key, value) }
	return s
}

func losesSet() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	var sets atomic.Int64
	s.Set = func(key int, value int64) {
		if sets.Add(1)%20 != 0 {
			n.set(key, value)
		}
	}
	return s
}

// keepingLoads calls do, which breaks loads, and repairs them.
func (n *naive) keepingLoads(do func()) {
	n.mu.Lock()
	loads := n.loads
	n.loads = nil
	do()
	n.loads = loads
	n.mu.Unlock()
}

func (n *naive) delKeepingLoads(key int) (ok bool) {
	n.keepingLoads(func() {
		_, ok = n.entries[key]
		n.remove(key)
	})
	return ok
}

func loadUndoesDel() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.Del = n.delKeepingLoads
	return s
}

func refreshUndoesDel() *Subject {
	n := newNaive(0, 0)
	s := n.refreshing()
	s.Del = n.delKeepingLoads
	return s
}

// removedStandsIn answers a Take whose fetch has failed with the last value set, removed or
// not.
func removedStandsIn() *Subject {
	s := newNaive(0, 0).refreshing()
	set, take := s.Set, s.Take
	var last sync.Map
	s.Set = func(key int, value int64) {
		set(key, value)
		last.Store(key, value)
	}
	s.Take = func(key int, fetch func() (int64, error)) (int64, error) {
		value, err := take(key, fetch)
		if old, ok := last.Load(key); ok && err != nil {
			return old.(int64), nil
		}
		return value, err
	}
	return s
}

func loadUndoesDelFunc() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.DelFunc = func(del func(int64) bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.sweep(del)
	}
	return s
}

func loadUndoesClear() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.Clear = func() { n.keepingLoads(func() { clear(n.entries) }) }
	return s
}

func loadsBeside() *Subject {
	n := newNaive(0, 0)
	n.beside = true
	return n.subject()
}

// besideUndoesDel lets a load begin after a Del beside the old one, which is stored all the
// same.
func besideUndoesDel() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.Del = func(key int) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		_, ok := n.find(key)
		delete(n.loads, key)
		delete(n.entries, key)
		return ok
	}
	return s
}

func twoLoads() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.Take = func(key int, fetch func() (int64, error)) (int64, error) {
		if value, ok := n.get(key); ok {
			return value, nil
		}
		value, err := fetch()
		if err == nil {
			value, _ = n.getOrSet(key, value)
		}
		return value, err
	}
	return s
}

func computeInTwo() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.Compute = func(key int, f func(int64, bool) (int64, Action)) (int64, bool) {
		value, does := f(n.get(key))
		return n.compute(key, func(int64, bool) (int64, Action) { return value, does })
	}
	return s
}

func getOrSetInTwo() *Subject {
	n := newNaive(0, 0)
	s := n.subject()
	s.GetOrSet = func(key int, value int64) (int64, bool) {
		if old, ok := n.get(key); ok {
			return old, true
		}
		runtime.Gosched()
		n.set(key, value)
		return value, false
	}
	return s
}

// comesBack finds, at times, an entry that has been evicted, with its last value.
func comesBack() *Subject {
	n := newNaive(3, 0)
	s := n.subject()
	var reads atomic.Int64
	var last sync.Map
	s.Set = func(key int, value int64) {
		last.Store(key, value)
		n.set(key, value)
	}
	s.Get = func(key int) (int64, bool) {
		value, ok := n.get(key)
		if old, known := last.Load(key); !ok && known && reads.Add(1)%8 == 0 {
			return old.(int64), true
		}
		return value, ok
	}
	return s
}

// lives returns a cache with another TTL than the millisecond that it should have.
func lives(ttl time.Duration) *Subject { return newNaive(0, ttl).subject() }

func touchRevives() *Subject {
	n := newNaive(0, time.Millisecond)
	s := n.subject()
	s.Touch = func(key int, ttl time.Duration) bool {
		if ttl < 0 {
			return n.del(key)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		e, ok := n.entries[key]
		if ok {
			n.entries[key] = naiveEntry{e.value, deadlineAfter(ttl)}
		}
		return ok
	}
	return s
}

// TestWriteTemp: a wrong history is written as a page.
func TestWriteTemp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, wrong := Run(losesSet(), Promises{}, lasting, seed(), first(5000))
	if wrong == nil {
		t.Fatal("passed")
	}
	path, err := wrong.WriteTemp()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(page), "<html") {
		t.Errorf("the page has %d bytes: %v", len(page), err)
	}
	if text := wrong.Error(); !strings.Contains(text, "client") {
		t.Errorf("the error says %q", text)
	}
}
