package pinwheel_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestLedger lets many goroutines do everything at once on the real clock. Every
// value is unique, and at the end of all each stored value has been reported
// exactly once, and no other.
//
// Catches: reports lost or doubled between threads; values served after they were
// reported as removed for good; whatever -race sees.
func TestLedger(t *testing.T) {
	weigh := func(_, v int) uint32 { return uint32(v % 5) }
	for name, o := range map[string]cache.Options[int, int]{
		"no limit":       {},
		"tiny":           {Limit: 3},
		"one shard":      {Limit: 200, Expire: 3 * time.Millisecond, Jitter: 0.5},
		"many shards":    {Limit: 4096, Expire: 20 * time.Millisecond, Workers: 1},
		"weight":         {MaxWeight: 300, Weigh: weigh, Expire: 5 * time.Millisecond},
		"idle":           {Limit: 500, Idle: 2 * time.Millisecond, Workers: 2},
		"idle and TTL":   {Idle: 2 * time.Millisecond, Expire: 5 * time.Millisecond},
		"slow callbacks": {Limit: 50, Workers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t, o, name == "slow callbacks")
			together(8, l.storm)
			l.audit()
		})
	}
}

// ledger knows what was promised of every value.
type ledger struct {
	t      *testing.T
	c      *cache.Cache[int, int]
	rounds int
	keys   int
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

func newLedger(t *testing.T, o cache.Options[int, int], slow bool) *ledger {
	l := &ledger{t: t, rounds: scaled(20_000), keys: 400}
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
	l.c = newCache(t, o)
	return l
}

func (l *ledger) new() int { return int(l.next.Add(1)) }

func (l *ledger) mark(v int, fate int32) {
	if was := l.values[v].fate.Swap(fate); was != unknown && was != fate {
		l.t.Errorf("value %d was %d and is now %d", v, was, fate)
	}
}

// storm is one goroutine's work.
func (l *ledger) storm(g int) {
	rng := rand.New(rand.NewPCG(uint64(g), 99))
	for range l.rounds {
		key := rng.IntN(l.keys)
		ttl := time.Duration(rng.IntN(4000)) * time.Microsecond
		switch rng.IntN(16) {
		case 0, 1, 2:
			v := l.new()
			l.c.Set(key, v)
			l.mark(v, stored)
		case 3, 4:
			v := l.new()
			l.c.SetWithExpire(key, v, ttl)
			l.mark(v, stored)
		case 5:
			l.c.Touch(key, ttl-time.Millisecond)
		case 6:
			l.c.Del(key)
		case 7:
			v := l.new()
			if got, loaded := l.c.GetOrSet(key, v); loaded {
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
				l.c.Clear()
			case 1:
				for _, v := range l.c.All() {
					l.mark(v, stored)
				}
			case 2:
				time.Sleep(time.Millisecond)
			}
		default:
			if v, ok := l.c.Get(key); ok {
				l.mark(v, stored)
			}
		}
	}
}

func (l *ledger) take(key int, rng *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rng.IntN(3) == 0 {
		ctx = context.Background()
	}
	v := 0
	_, _ = l.c.TakeCtx(ctx, key, func(context.Context) (int, error) {
		v = l.new()
		runtime.Gosched()
		if v%10 == 0 {
			return v, errFetch
		}
		return v, nil
	})
	if v != 0 && v%10 == 0 {
		l.mark(v, notStored)
	}
}

func (l *ledger) compute(key int, rng *rand.Rand) {
	op := []cache.Op{cache.OpKeep, cache.OpSet, cache.OpSet, cache.OpDelete}[rng.IntN(4)]
	v := 0
	l.c.Compute(key, func(int, bool) (int, cache.Op) {
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

// audit closes the cache and settles all accounts.
func (l *ledger) audit() {
	t := l.t
	left := collect(t, l.c)
	mustClose(t, l.c)
	wantLen(t, l.c, 0)
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
	s := l.c.Stats()
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
