package pairs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A round is a cache with some actors.
type round struct {
	*stage
	t       *testing.T
	dice    dice
	options cache.Options[int, value]
	cache   *cache.Cache[int, value]
	ledger  ledger
	started time.Time
	keys    int                            // of the actors
	more    int                            // keys from crowdKeys on, in a soak
	methods []method                       // that they call
	cast    map[string]bool                // the kinds of actors who call methods
	bursts  bool                           // some panic or call Goexit
	crowded bool                           // OnRemove is far behind at times
	stays   bool                           // the cache is not closed before the end
	until   time.Time                      // when the program ends to call; zero: after one call
	over    atomic.Bool                    // nobody acts any more, or a soak rests
	saved   atomic.Pointer[bytes.Buffer]   // a snapshot for Restore
	last    atomic.Pointer[stats.Snapshot] // of the statistics
}

// newRound draws what a round is about. It has few methods and few who act, so that these meet
// often.
func newRound(s *stage, t *testing.T, d dice) *round {
	r := &round{stage: s, t: t, dice: d, started: time.Now(), keys: 1 + d.IntN(keys), bursts: d.chance(50)}
	r.methods = draw(d)
	o := &r.options
	o.Expire, o.Idle, o.Jitter = one(d, 0, 10*ms, 50*ms, time.Second), one(d, 0, 0, 0, 0, 30*ms), one(d, 0, 0, 0.3)
	o.Refresh, o.Grace = one(d, 0, 0, 0.5), one(d, 0, 20*ms, time.Second)
	if o.Refresh == 0 {
		o.RefreshAfter = one(d, 0, 0, 5*ms)
	}
	if d.chance(30) {
		o.RetryAfter = func(failures int) time.Duration { return time.Duration(failures-1) * 5 * ms }
	}
	o.Timeout, o.MaxLoads = one(d, 0, 0, 40*ms, 200*ms), one(d, 0, 0, 1, 2)
	o.Policy, o.Workers, o.Schema = one(d, cache.LRU, cache.Adaptive), one(d, 0, 1, 2), one(d, "", "v1")
	o.Ages, o.HotKeys, o.OnPanic = d.chance(20), one(d, 0, 0, 0, 3), r.onPanic
	if o.Grace > 0 {
		o.Patience = one(d, 0, 5*ms, 30*ms)
	}
	if d.chance(30) {
		o.MaxWeight, o.Weigh = one[uint64](d, 1, 5, 20), r.weigh
		o.Limit = one(d, 0, 0, 1, 3)
	} else {
		o.Limit = one(d, 0, 1, 2, 4, 1000)
		o.WhatIf = o.Limit > 0 && d.chance(5)
	}
	if d.chance(40) {
		o.Negative = r.negative
	}
	if o.Load = load; d.chance(50) {
		o.LoadMany = loadMany
	}
	if o.LoadMany != nil && d.chance(50) {
		o.Load, o.Batch = nil, one(d, 0, 5*ms, 20*ms)
	}
	if r.crowded = d.chance(6) || r.soak && d.chance(60); r.crowded {
		o.MaxLoads, o.Workers, o.Timeout = one(d, 0, 1, 1, 2), one(d, 1, 2), one(d, 0, 0, 0, 200*ms)
	}
	if r.crowded || d.chance(40) && !r.soak {
		o.OnRemove = r.onRemove
	}
	if r.soak {
		r.enlarge(d)
	}
	if o.Expire == 0 && d.chance(30) {
		o.ExpireBy = r.expireBy
	}
	r.cast = map[string]bool{"the program": true}
	fetches := d.chance(70)
	for _, kind := range kinds {
		// OnRemove must not wait for a goroutine that removes values, as that may wait for it.
		waitedFor := kind != "OnRemove" && kind != "Compute" && kind != "Tune"
		r.cast[kind] = d.chance(50) && !(r.crowded && waitedFor) && (fetches || !slices.Contains(fetchKinds, kind))
	}
	r.cast["OnRemove"] = r.cast["OnRemove"] || r.crowded
	r.tracef("%+v, %d keys, crowded %t", *o, r.keys, r.crowded)
	c, err := cache.New(*o)
	if err != nil {
		t.Fatalf("New(%+v): %v", *o, err)
	}
	r.cache = c
	r.saved.Store(new(bytes.Buffer))
	r.last.Store(new(stats.Snapshot))
	return r
}

// draw returns some methods; about half of them are Takes.
func draw(d dice) (of []method) {
	for len(of) < 3+d.IntN(8) {
		of = append(of, one(d, one(d, methods, methods[:takes])...))
	}
	return of
}

// key draws a key of a call.
func (r *round) key(d dice) int {
	if r.more > 0 && d.chance(70) {
		return crowdKeys + d.IntN(r.more)
	}
	return d.IntN(r.keys)
}

// act has some goroutines of the program call methods.
func (r *round) act(phase int) {
	var all sync.WaitGroup
	d := r.dice.at('g', uint64(phase))
	count := 4 + d.IntN(7)
	if r.soak {
		count *= 1 + d.IntN(6)
	}
	for n := range count {
		a := &actor{round: r, dice: d.at(uint64(n)), kind: "the program", ctx: context.Background(), loads: -1, above: -1}
		all.Go(func() {
			time.Sleep(a.duration())
			n := uint64(0)
			more := func() bool { return n == 0 || time.Now().Before(r.until) && !r.t.Failed() }
			for more() {
				var calls sync.WaitGroup // in a goroutine of their own, which a fetch may end
				calls.Go(func() {
					for more() {
						n++
						a.call(a.at('c', n))
					}
				})
				calls.Wait()
			}
		})
	}
	if r.crowded && !r.soak {
		all.Go(func() { r.crowd(d.at('x')) })
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Hour): // some calls do not end, and other timers go on
		r.hang()
	}
}

// crowd stores more values than may wait for OnRemove, and removes them.
func (r *round) crowd(d dice) {
	time.Sleep(d.duration())
	for key := crowdKeys; key < crowdKeys+5000; key++ {
		r.cache.Set(key, value{id: d.at(uint64(key)).place | 1, key: key, depth: deepest, above: -1})
	}
	end := r.ledger.change(allKeys, 0) // who comes later joins no load of before
	defer end()
	r.cache.DelFunc(func(key int, _ value) bool { return key >= crowdKeys })
}

// quieten waits until nothing of the cache runs, and the statistics say what has happened.
func (r *round) quieten() {
	wrong := ""
	for range 100_000 {
		if !r.soak {
			synctest.Wait()
		}
		s := r.cache.Stats()
		wrong = fmt.Sprintf("something runs without end: loads %+v, callbacks %+v", s.Loads, s.Callbacks)
		if r.ledger.active.Load() == 0 && s.Loads.Running+s.Callbacks.Running+s.Callbacks.Queued == 0 {
			if wrong = r.ledger.compare(s, r.options.OnRemove != nil); wrong == "" {
				r.measure()
				return
			}
		}
		if time.Sleep(ms); r.soak && r.t.Failed() {
			return
		}
	}
	r.failf("%s", wrong)
}

// end closes the cache, and checks that it stays quiet.
func (r *round) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	r.over.Store(true) // Close does not wait for loads that OnRemove begins now
	if err := r.cache.Close(ctx); err != nil {
		r.failf("Close: %v", err)
	}
	begun := r.ledger.begun.Load()
	if !r.soak {
		time.Sleep(10 * time.Second)
	}
	r.quieten()
	s := r.cache.Stats()
	if now := r.ledger.begun.Load(); now > begun || s.Entries+s.Negatives+s.Loads.Queued+s.Expiry.Pending > 0 {
		r.failf("after Close: %d functions of the user, then %d; %+v", begun, now, s)
	}
	_ = os.Remove(r.file())
}

// measure checks the limits, unless they change meanwhile.
func (r *round) measure() {
	resizes, resizing := r.ledger.resizes.Load(), r.ledger.resizing.Load()
	s := r.cache.Stats()
	n := r.cache.Len()
	if above := s.Limit > 0 && n > s.Limit || s.Weight > s.MaxWeight; above && resizing == 0 && r.ledger.resizes.Load() == resizes {
		r.failf("%d entries of at most %d, a weight of %d of %d", n, s.Limit, s.Weight, s.MaxWeight)
	}
}

// resize calls a method that changes a limit, of which measure must know.
func (r *round) resize(do func()) {
	r.ledger.resizing.Add(1)
	defer r.ledger.resizing.Add(-1)
	r.ledger.resizes.Add(1)
	do()
}

// compare takes a snapshot of the statistics. No counter may be less than in one that was
// taken before.
func (r *round) compare() {
	before := r.last.Load()
	s := r.cache.Stats()
	r.last.Store(&s)
	for i, was := range counters(*before) {
		if is := counters(s)[i]; is < was || is > 1<<62 {
			r.failf("a counter has fallen from %d to %d: %+v, then %+v", was, is, *before, s)
		}
	}
}

func counters(s stats.Snapshot) []uint64 {
	r, l, f := s.Removals, s.Loads, s.Loads.Refreshes
	return []uint64{
		s.Hits, s.Misses, s.MissesExpired, s.MissesEvicted, s.HitsInGrace, s.Sets + s.Restored, s.Restored, s.Callbacks.Panics,
		r.Expired, r.Evicted, r.Deleted, r.Replaced, r.Cleared, l.OK.Count(), l.Failed.Count(), l.Waiters, l.Abandoned,
		f.OK, f.Failed, f.Dropped, f.Skipped, s.Expiry.Lateness.Count(), s.EvictedAge.Count(),
	}
}

// failf fails the round.
func (r *round) failf(format string, args ...any) {
	r.t.Errorf("-pairs.seed %d, after %v: %s", r.seed.Load(), time.Since(r.started), fmt.Sprintf(format, args...))
}

// tracef tells what happens, if somebody wants to know.
func (r *round) tracef(format string, args ...any) {
	if r.trace {
		fmt.Printf("%8v  %s\n", time.Since(r.started), fmt.Sprintf(format, args...))
	}
}

// A ledger counts what happens in a round, to compare it with what the cache promises.
type ledger struct {
	active, begun atomic.Int64                     // calls of functions of the user: those that run, and all
	gets          atomic.Uint64                    // that must be counted as hits or misses
	bursts        atomic.Int64                     // calls of OnRemove that run, panicked or called Goexit
	told          sync.Map                         // the causes that OnRemove got, by the ids of the values
	left          [cache.Cleared + 1]atomic.Uint64 // calls of OnRemove, by cause
	resizes       atomic.Int64                     // changes of a limit that have begun
	resizing      atomic.Int64                     // those under way
	taking        atomic.Int64                     // Takes under way
	unread        atomic.Uint64                    // the id of a value that must not be stored, or 0: see renewed
	clock         atomic.Uint64                    // ticks with each call, and each change of a key
	mu            sync.Mutex
	changing      [keys]int      // calls that may change a key, under way
	changed       [keys]uint64   // when the last of them began or ended
	fetching      [keys][]uint64 // when the calls began whose fetches of a key run
}

// compare returns what the statistics say otherwise at rest. told says that there is OnRemove.
func (l *ledger) compare(s stats.Snapshot, told bool) string {
	r := s.Removals
	removed := [...]uint64{cache.Expired: r.Expired, cache.Evicted: r.Evicted, cache.Deleted: r.Deleted, cache.Replaced: r.Replaced, cache.Cleared: r.Cleared}
	for cause, n := range removed {
		if of := l.left[cause].Load(); told && of != n {
			return fmt.Sprintf("%d values have left as %v, and OnRemove was told of %d", n, cache.Cause(cause), of)
		}
	}
	if gets := l.gets.Load(); s.Gets() != gets {
		return fmt.Sprintf("%d hits and %d misses, but %d gets", s.Hits, s.Misses, gets)
	}
	if n := l.bursts.Load(); s.Callbacks.Panics != uint64(n) {
		return fmt.Sprintf("OnRemove ended %d times in a panic or Goexit, and the statistics say %d", n, s.Callbacks.Panics)
	}
	return ""
}

// renewed is called before a fetch returns a value in place of old. If that was evicted, and
// nobody waits for the new one, it must not be stored: it would evict what evicted the old.
func (l *ledger) renewed(old, v value) {
	if cause, _ := l.told.Load(old.id); cause != cache.Evicted {
		return
	}
	l.unread.Store(v.id)
	if l.taking.Load() > 0 { // after that, as a Take may begin now
		l.unread.Store(0)
	}
}

// change is called before a call that may change keys, and what it returns afterwards.
func (l *ledger) change(s scope, key int) (end func()) {
	count := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := l.clock.Add(1)
		for k := range keys {
			if s == allKeys || s == itsKey && k == key {
				l.changing[k] += n
				l.changed[k] = now
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// fetch is called at the beginning of a fetch, and what it returns at its end. since is when
// the call began that it is for. ok is false if another fetch of a key runs, though nobody
// may have changed the key since that one began.
func (l *ledger) fetch(since uint64, of []int) (end func(), ok bool) {
	of = slices.DeleteFunc(slices.Clone(of), func(key int) bool { return key >= crowdKeys }) // of those nobody keeps a record
	l.mu.Lock()
	defer l.mu.Unlock()
	ok = true
	for _, key := range of {
		for _, began := range l.fetching[key] {
			ok = ok && (l.changing[key] > 0 || l.changed[key] >= min(began, since))
		}
		l.fetching[key] = append(l.fetching[key], since)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, key := range of {
			i := slices.Index(l.fetching[key], since)
			l.fetching[key] = slices.Delete(l.fetching[key], i, i+1)
		}
	}, ok
}
