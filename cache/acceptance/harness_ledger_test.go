package acceptance

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A Ledger records what must happen to every value that it stores in a cache.
type Ledger struct {
	t      *testing.T
	Cache  *cache.Cache[int, int]
	Keys   int // it uses the keys below
	rounds int
	next   atomic.Int64
	values []value
}

type value struct {
	fate     atomic.Int32 // unknown, stored, or notStored
	reported atomic.Int32
}

const (
	unknown   = iota // a load may have been fenced
	stored           // must be reported once
	notStored        // must not be reported
)

// NewLedger returns a Ledger with a new cache, whose callbacks yield if slow is set.
func NewLedger(t *testing.T, o cache.Options[int, int], slow bool) *Ledger {
	l := &Ledger{t: t, rounds: Scaled(20_000), Keys: 400}
	l.values = make([]value, 8*l.rounds*4+1)
	o.OnRemove = func(e cache.Event[int, int]) {
		if n := l.values[e.Value].reported.Add(1); n > 1 {
			t.Errorf("%+v: reported %d times", e, n)
		}
		if e.Cause < cache.Expired || e.Cause > cache.Cleared {
			t.Errorf("%+v: no such cause", e)
		}
		if slow {
			runtime.Gosched()
		}
	}
	l.Cache = New(t, o)
	return l
}

func (l *Ledger) new() int { return int(l.next.Add(1)) }

func (l *Ledger) mark(v int, fate int32) {
	if was := l.values[v].fate.Swap(fate); was != unknown && was != fate {
		l.t.Errorf("value %d was %d and is now %d", v, was, fate)
	}
}

// Storm is one goroutine's work.
func (l *Ledger) Storm(g int) {
	rng := rand.New(rand.NewPCG(uint64(g), 99))
	for range l.rounds {
		key := rng.IntN(l.Keys)
		ttl := time.Duration(rng.IntN(4000)) * time.Microsecond
		switch rng.IntN(16) {
		case 0, 1, 2:
			v := l.new()
			l.Cache.Set(key, v)
			l.mark(v, stored)
		case 3, 4:
			v := l.new()
			l.Cache.SetWithExpire(key, v, ttl)
			l.mark(v, stored)
		case 5:
			l.Cache.Touch(key, ttl-time.Millisecond)
		case 6:
			l.Cache.Del(key)
		case 7:
			v := l.new()
			if got, loaded := l.Cache.GetOrSet(key, v); loaded {
				l.mark(v, notStored)
				l.mark(got, stored)
			} else {
				l.mark(v, stored)
			}
		case 8:
			l.take(key, rng)
		case 9:
			l.compute(key, rng)
		case 10:
			switch rng.IntN(200) {
			case 0:
				l.Cache.Clear()
			case 1:
				for _, v := range l.Cache.All() {
					l.mark(v, stored)
				}
			case 2:
				time.Sleep(time.Millisecond)
			}
		default:
			if v, ok := l.Cache.Get(key); ok {
				l.mark(v, stored)
			}
		}
	}
}

func (l *Ledger) take(key int, rng *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rng.IntN(3) == 0 {
		ctx = context.Background()
	}
	v := 0
	_, _ = l.Cache.TakeCtx(ctx, key, func(context.Context) (int, error) {
		v = l.new()
		runtime.Gosched()
		if v%10 == 0 {
			return v, ErrFetch
		}
		return v, nil
	})
	if v != 0 && v%10 == 0 {
		l.mark(v, notStored)
	}
}

func (l *Ledger) compute(key int, rng *rand.Rand) {
	op := []cache.Op{cache.OpKeep, cache.OpSet, cache.OpSet, cache.OpDelete}[rng.IntN(4)]
	v := 0
	l.Cache.Compute(key, func(int, bool) (int, cache.Op) {
		if v != 0 {
			l.mark(v, notStored) // f runs again
		}
		v = 0
		if op == cache.OpSet {
			v = l.new()
		}
		return v, op
	})
	if v != 0 {
		l.mark(v, stored)
	}
}

// Audit closes the cache and checks what happened to every value.
func (l *Ledger) Audit() {
	t := l.t
	left := Collect(t, l.Cache)
	MustClose(t, l.Cache)
	WantLen(t, l.Cache, 0)
	for _, v := range left {
		l.mark(v, stored)
	}
	var total uint64
	for v := range l.values {
		fate, reported := l.values[v].fate.Load(), l.values[v].reported.Load()
		total += uint64(reported)
		if fate == stored && reported != 1 || fate == notStored && reported != 0 || reported > 1 {
			t.Errorf("value %d: fate %d, reported %d times", v, fate, reported)
		}
	}
	s := l.Cache.Stats()
	r := s.Removals
	if sum := r.Expired + r.Evicted + r.Deleted + r.Replaced + r.Cleared; sum != total {
		t.Errorf("%d removals counted, %d reported", sum, total)
	}
	if s.Entries != 0 || s.Weight != 0 || s.Callbacks.Queued != 0 || s.Callbacks.Panics != 0 {
		t.Errorf("after Close: entries, weight, queued, panics = %d, %d, %d, %d; want 0",
			s.Entries, s.Weight, s.Callbacks.Queued, s.Callbacks.Panics)
	}
	t.Logf("%d values, removals %+v", l.next.Load(), r)
}
