package cache

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// TestFencesOfOneKey checks that several computations of one key each have their own
// fence: the end of one removes only its own, and a change breaks all.
func TestFencesOfOneKey(t *testing.T) {
	c := Must(Options[int, int]{})
	s := &c.common.table.Load().shards[0]
	for ended := range 3 {
		var fences [3]fence
		for i := range fences {
			s.addFence(1, &fences[i])
		}
		if !s.removeFence(1, &fences[ended]) {
			t.Errorf("fence %d did not hold", ended)
		}
		if ended == 1 {
			s.breakFences(c.common.hasher.Hash(1), 1)
		} else {
			s.breakAllFences()
		}
		for i := range fences {
			if fences[i].broken != (i != ended) {
				t.Errorf("number %d has ended: fence %d broken is %v", ended, i, fences[i].broken)
			}
		}
		if s.fences.any() {
			t.Errorf("fences on %d keys are left over", len(s.fences.of))
		}
	}
}

// TestComputeOfWhatExpires checks that a result computed from a value that expires
// meanwhile is not stored.
func TestComputeOfWhatExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{})
		c.SetWithExpire(1, 10, time.Second)
		calls := 0
		v, ok := c.Compute(1, func(old int, found bool) (int, Op) {
			if calls++; calls == 1 {
				time.Sleep(time.Minute)
			}
			return old + 1, OpSet
		})
		if v != 1 || !ok || calls != 2 {
			t.Errorf("Compute = %d, %v after %d calls, want 1 after 2", v, ok, calls)
		}
	})
}

// TestComputeOfWhatIsRestored checks that so is a result computed from a value that expires and is
// restored meanwhile.
func TestComputeOfWhatIsRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, c := Must(Options[int, int]{}), Must(Options[int, int]{})
		from.Set(1, 20)
		var file bytes.Buffer
		if err := from.Save(&file, encodeInts); err != nil {
			t.Fatal(err)
		}
		c.Compute(1, keep) // from now on the shard notes changes
		c.SetWithExpire(1, 10, time.Second)
		calls := 0
		v, _ := c.Compute(1, func(old int, _ bool) (int, Op) {
			if calls++; calls == 1 {
				time.Sleep(time.Second)
				if n, err := c.Restore(&file, decodeInts); n != 1 || err != nil {
					t.Errorf("Restore = %d, %v", n, err)
				}
			}
			return old + 1, OpSet
		})
		if v != 21 || calls != 2 {
			t.Errorf("Compute = %d after %d calls, want 21 after 2", v, calls)
		}
	})
}

// TestLoadThatWaitsForRoom checks that a change of the key still makes a load stale while
// its result waits for other shards to make room.
func TestLoadThatWaitsForRoom(t *testing.T) {
	c := fourShards()
	if err := c.Resize(1); err != nil {
		t.Fatal(err)
	}
	c.Set(1, 0) // all the budget is in another shard
	_, l, err := c.join(0, aPlainTake(), nil)
	if l == nil || err != nil {
		t.Fatalf("join = %v, %v", l, err)
	}
	s := c.common.lock(l.hash)
	missing := s.conclude(l, &update[int, int]{hash: l.hash, weight: 1, life: forever})
	s.lock.Unlock()
	if missing != 1 {
		t.Fatalf("%d is missing, want 1", missing)
	}
	c.Del(0)
	c.concludeAll(l)
	if _, ok := c.Peek(0); ok {
		t.Error("a load undoes a Del")
	}
	wantWhole(t, c)
}

// TestMapsOfLoadsShrink checks that the memory of many concurrent loads and Computes is
// freed, and that those still running are not lost.
func TestMapsOfLoadsShrink(t *testing.T) {
	const n = 1000
	c := Must(Options[int, int]{Limit: 1})
	s := &c.common.table.Load().shards[0]
	var loads []*load[int, int]
	fences := make([]fence, n)
	for k := range n {
		_, l, _ := c.join(k, aPlainTake(), nil)
		l.err = ErrGoexit
		loads = append(loads, l)
		s.addFence(k, &fences[k])
	}
	for k := range n - 1 {
		c.concludeAll(loads[k])
		s.removeFence(k, &fences[k])
	}
	if s.others.peak > n/2 || s.fences.peak > n/2 {
		t.Errorf("maps for %d loads and %d fences, with one of each", s.others.peak, s.fences.peak)
	}
	if s.newest(n-1) != loads[n-1] || s.fences.of[n-1] != &fences[n-1] {
		t.Error("the last load or fence is lost")
	}
	c.concludeAll(loads[n-1])
	s.removeFence(n-1, &fences[n-1])
	wantWhole(t, c)
}

func aPlainTake() *caller {
	who := new(loading).plainCaller()
	return &who
}
