package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A target is a cache and the records of its keys.
type target[K comparable, V any] struct {
	spec[K, V]
	store   store[K, V]
	failed  *failure
	tick    int64
	keys    []K
	index   map[K]int
	records []record

	bound    bound
	gets     atomic.Uint64 // calls that count as a hit or a miss
	hits     atomic.Uint64 // of Get
	misses   atomic.Uint64
	stores   atomic.Uint64 // values stored for certain
	fetches  atomic.Uint64 // that have ended
	fetching atomic.Int64
	reports  [cache.Cleared + 1]atomic.Uint64 // by cause
	calls    atomic.Int64                     // of OnRemove running now
	panics   atomic.Uint64                    // of OnRemove
	clears   atomic.Uint64
	resting  atomic.Bool // OnRemove must not use the cache
}

// A spec says how to make a target.
type spec[K comparable, V any] struct {
	form[K, V]
	options  cache.Options[K, V]
	size     int                        // number of keys
	listens  bool                       // has OnRemove
	callback func(*rand.Rand) behaviour // of OnRemove; nil means quick
	limits   []int                      // that Resize chooses from
	weighs   bool
}

// A behaviour is what a call of OnRemove or of a fetch does besides its work.
type behaviour uint8

const (
	quick behaviour = iota
	slow
	panicking
	exiting
	failing
	useCache
)

// newTarget makes a cache and the records of its keys.
func newTarget[K comparable, V any](s spec[K, V], open opener[K, V], f *failure) *target[K, V] {
	t := &target[K, V]{spec: s, failed: f, tick: int64(tickOf(s.options.Expire, s.options.Idle))}
	t.keys, t.index, t.records = make([]K, s.size), make(map[K]int, s.size), make([]record, s.size)
	evicts := s.weighs || s.limits != nil || s.options.Limit > 0 && s.options.Limit < s.size
	for i := range t.keys {
		t.keys[i] = s.key(i)
		t.index[t.keys[i]] = i
		t.records[i].ledger, t.records[i].evicts = s.listens, evicts
	}
	o := s.options
	if s.listens {
		o.OnRemove, o.OnPanic = t.onRemove, func(any, []byte) {}
	}
	if s.weighs {
		o.Weigh = func(_ K, v V) uint32 { return weightOf(s.number(v)) }
	}
	t.bound.set(o.Limit)
	t.store = open(o)
	return t
}

// weightOf returns the weight of a value: one in a thousand is too heavy for any cache.
func weightOf(id uint64) uint32 {
	_, n := split(id)
	if n%1000 == 999 {
		return 1 << 30
	}
	return uint32(n % 61)
}

// tickOf returns the documented tick.
func tickOf(expire, idle time.Duration) time.Duration {
	shortest := expire
	if idle > 0 && (shortest == 0 || idle < shortest) {
		shortest = idle
	}
	if shortest == 0 {
		return 100 * time.Millisecond
	}
	return min(max(shortest/100, 10*time.Millisecond), time.Second)
}

// lateTick is how late a tick of the cache may come on a busy machine. A value stored after
// it may expire that much earlier.
const lateTick = int64(2 * time.Second)

// life returns how long a value with a TTL lives, as documented: exactly the TTL if that is
// less than a hundred ticks; else up to a tick less, and after Touch another quarter of a
// tick.
func (t *target[K, V]) life(ttl time.Duration, touched bool) life {
	slack := t.tick + lateTick
	if touched {
		slack += t.tick / 4
	}
	l := life{never, never}
	if ttl > 0 {
		spread := float64(ttl) * t.options.Jitter
		l.least, l.most = int64(float64(ttl)-spread)-1, int64(float64(ttl)+spread)+1
		if l.most >= 100*t.tick {
			l.least = max(0, l.least-slack)
		}
	}
	if idle := int64(t.options.Idle); idle > 0 {
		if idle >= 100*t.tick {
			idle = max(0, idle-slack)
		}
		l.least = min(l.least, idle)
	}
	return l
}

func (t *target[K, V]) name() string { return t.options.Name }

// wrong reports a violation for a key, unless what is empty.
func (t *target[K, V]) wrong(key int, operation, what string) {
	if what == "" {
		return
	}
	r := &t.records[key]
	r.mu.Lock()
	past := r.past.String()
	r.mu.Unlock()
	t.failed.report(violation{
		Subject: t.name(),
		What:    fmt.Sprintf("%s of key %v: %s", operation, t.keys[key], what),
		History: past,
	})
}

// unfit reports a violation that concerns the whole cache.
func (t *target[K, V]) unfit(format string, args ...any) {
	t.failed.report(violation{Subject: t.name(), What: fmt.Sprintf(format, args...)})
}

// numberOf returns the number of a value that was read, and checks that it is of the key.
func (t *target[K, V]) numberOf(key int, operation string, value V) uint64 {
	k, n := split(t.number(value))
	if k != key {
		t.wrong(key, operation, fmt.Sprintf("the value is number %d of key number %d", n, k))
	}
	return n
}

// onRemove is OnRemove of the cache.
func (t *target[K, V]) onRemove(e cache.Event[K, V]) {
	key := t.index[e.Key]
	r := &t.records[key]
	number := t.numberOf(key, "OnRemove", e.Value)
	if n := t.calls.Add(1); n > int64(t.workers()) {
		t.unfit("%d calls of OnRemove at once, want at most %d", n, t.workers())
	}
	defer t.calls.Add(-1)
	t.wrong(key, "OnRemove", r.enter())
	defer r.exit()
	if e.Cause < cache.Expired || e.Cause > cache.Cleared {
		t.wrong(key, "OnRemove", fmt.Sprintf("there is no cause %d", e.Cause))
		return
	}
	if e.Cause == cache.Evicted && !r.evicts {
		t.wrong(key, "OnRemove", fmt.Sprintf("value %d was evicted from a cache that was never full", number))
	}
	if e.Cause == cache.Cleared && t.clears.Load() == 0 {
		t.wrong(key, "OnRemove", fmt.Sprintf("value %d was cleared, but nobody called Clear", number))
	}
	t.wrong(key, "OnRemove", r.reported(number, e.Cause))
	t.reports[e.Cause].Add(1)
	t.behave(key, number)
}

// behave does what a call of OnRemove does besides its work; the number of the value decides.
func (t *target[K, V]) behave(key int, number uint64) {
	if t.callback == nil {
		return
	}
	rng := rand.New(rand.NewPCG(uint64(key), number))
	switch t.callback(rng) {
	case slow:
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Microsecond)
	case panicking:
		t.panics.Add(1)
		panic("soak")
	case exiting:
		t.panics.Add(1)
		runtime.Goexit()
	case useCache:
		if t.resting.Load() {
			return
		}
		h := &hand{rng: rng, inCallback: true}
		t.operate(h, callbackMix.choose(rng), rng.IntN(t.size))
		t.settle(h)
	}
}

func (t *target[K, V]) workers() int {
	if t.options.Workers > 0 {
		return t.options.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// sometimes returns a function that chooses one of the behaviours for one call in n.
func sometimes(n int, of ...behaviour) func(*rand.Rand) behaviour {
	return func(rng *rand.Rand) behaviour {
		if rng.IntN(n) > 0 {
			return quick
		}
		return of[rng.IntN(len(of))]
	}
}
