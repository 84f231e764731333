package cache

import (
	"sync"
	"testing"
	"time"
)

// TestFencesAtOnce checks that no fence is lost that readers put up at once.
func TestFencesAtOnce(t *testing.T) {
	all := newFences()
	const each = 100_000
	var puts sync.WaitGroup
	begin := make(chan struct{})
	for range 4 {
		puts.Go(func() {
			<-begin
			for range each {
				all.put(0, 0)
			}
		})
	}
	close(begin)
	puts.Wait()
	n := 0
	for f := all.listOf(0).Load(); f != nil; f = f.next {
		n++
	}
	if n != 4*each || all.up.Load() != 4*each {
		t.Errorf("%d fences in the list and %d up, want %d", n, all.up.Load(), 4*each)
	}
}

// TestManyFences checks that the lists of many fences stay short, that no fence is lost when there are
// more lists, and that there are few again at the end.
func TestManyFences(t *testing.T) {
	const n = 1000
	s := new(shard[int, int])
	up := make([]*fence, n)
	for i := range up {
		up[i] = s.pending.makeFences().put(uint64(i)<<54, 0)
	}
	if lists := len(s.pending.fences.lists); lists < n/3 || lists > 3*n {
		t.Errorf("%d lists of %d fences", lists, n)
	}
	for i, f := range up {
		s.pending.fences.breakOn(uint64(i) << 54)
		if s.pending.fences.remove(f); !f.broken || i+1 < n && up[i+1].broken {
			t.Fatalf("fence %d is not broken, or the next one is", i)
		}
	}
	if len(s.pending.fences.lists) != fewLists || s.pending.makeFences() != s.pending.fences {
		t.Errorf("%d lists without fences", len(s.pending.fences.lists))
	}
}

// TestSpareFence checks that a fence that serves again is as a new one.
func TestSpareFence(t *testing.T) {
	all := newFences()
	f := all.put(1, goroutineID())
	all.breakOn(1)
	all.remove(f)
	all.spare.Store(f)
	if again := all.put(2, 0); again != f || *f != (fence{hash: 2}) {
		t.Errorf("a fence that serves again is %+v", again)
	}
}

// TestLoadThatWaitsForRoom checks that a change of the key still makes a load stale while
// its result waits for other shards to make room.
func TestLoadThatWaitsForRoom(t *testing.T) {
	c := fourShards()
	if err := c.Resize(1); err != nil {
		t.Fatal(err)
	}
	c.Set(1, 0) // all the budget is in another shard
	_, l, err := c.join(0, aPlainTake(), nil, nil)
	if l == nil || err != nil {
		t.Fatalf("join = %v, %v", l, err)
	}
	s := c.common.lock(l.hash)
	missing := l.conclude(s, &update[int, int]{hash: l.hash, weight: 1, life: forever})
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

// TestComputeThatWaitsForRoom checks that a change of the key still breaks the fence of a Compute
// while its result waits for other shards to make room.
func TestComputeThatWaitsForRoom(t *testing.T) {
	c := fourShards()
	if err := c.Resize(1); err != nil {
		t.Fatal(err)
	}
	c.Set(1, 0) // all the budget is in another shard
	c.common.size.budget.making.Lock()
	calls := 0
	computed := make(chan int)
	go func() {
		v, _ := c.Compute(0, func(old int, _ bool) (int, Op) { calls++; return old + calls, OpSet })
		computed <- v
	}()
	for !isLockingIn(").makeRoom(") {
		time.Sleep(time.Millisecond)
	}
	c.Del(0)
	c.common.size.budget.making.Unlock()
	if v := <-computed; v != 2 || calls != 2 {
		t.Errorf("%d after %d calls, want 2 after 2", v, calls)
	}
	wantWhole(t, c)
}

func newFences() *fences { return new(pending[int, int]).makeFences() }

func aPlainTake() *caller {
	who := caller{Caller: new(loading).rules.PlainCaller(), patient: true}
	return &who
}
