package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// eventually calls what until it returns "", for as long as patience. It returns the last
// answer.
func eventually(f *failure, what func() string) string {
	wrong := what()
	for wait, end := time.Millisecond, now()+int64(f.patience); wrong != "" && f.found() == nil && now() < end; wrong = what() {
		time.Sleep(wait)
		wait = min(2*wait, 100*time.Millisecond)
	}
	return wrong
}

// audit compares the cache with the records. Nobody may use the cache meanwhile.
func (t *target[K, V]) audit() {
	t.resting.Store(true)
	defer t.resting.Store(false)
	for _, step := range []func() string{t.reportsDone, t.loadsDone, t.reportsDone, t.overdue(now()), t.countsRight} {
		if wrong := eventually(t.failed, step); wrong != "" && t.failed.found() == nil {
			t.unfit("at rest: %s", wrong)
			return
		}
	}
	t.compareAll()
	t.measureAll()
}

// loadsDone ends the loads whose callers have left.
func (t *target[K, V]) loadsDone() string {
	if n := t.fetching.Load(); n > 0 {
		return fmt.Sprintf("%d fetches are running", n)
	}
	for key := range t.records {
		r := &t.records[key]
		r.mu.Lock()
		loose := len(r.loose) > 0
		r.mu.Unlock()
		if !loose {
			continue
		}
		c := t.begin(key, del, life{}) // after it no older load is stored
		t.judgeFound(key, &c, t.store.Del(t.keys[key]))
		r.removed(&c)
	}
	return ""
}

// reportsDone compares the calls of OnRemove with the removals that the cache counts.
func (t *target[K, V]) reportsDone() string {
	if !t.listens {
		return ""
	}
	removed := t.store.Stats().Removals
	for cause, n := range byCause(removed) {
		if got := t.reports[cause].Load(); got != n {
			return fmt.Sprintf("%d values were removed as %v, but OnRemove was called for %d", n, cause, got)
		}
	}
	if n := t.calls.Load(); n > 0 {
		return fmt.Sprintf("%d calls of OnRemove are running", n)
	}
	return ""
}

func byCause(r stats.Removals) map[cache.Cause]uint64 {
	return map[cache.Cause]uint64{
		cache.Expired: r.Expired, cache.Evicted: r.Evicted, cache.Deleted: r.Deleted,
		cache.Replaced: r.Replaced, cache.Cleared: r.Cleared,
	}
}

// overdue returns a check that every value whose deadline had passed at a time was
// reported.
func (t *target[K, V]) overdue(at int64) func() string {
	return func() string {
		for key := range t.records {
			if r := &t.records[key]; r.ledger {
				if wrong := r.overdue(at); wrong != "" {
					return fmt.Sprintf("key %v: %s", t.keys[key], wrong)
				}
			}
		}
		return ""
	}
}

func (r *record) overdue(at int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, it := range r.open {
		if it.stored && it.latest < at {
			return fmt.Sprintf("value %d has not been reported, though its deadline has passed; its history:\n%s", it.number, r.past.String())
		}
	}
	return ""
}

// countsRight compares the cache's counters with the operations done.
func (t *target[K, V]) countsRight() string {
	s := t.store.Stats()
	atLeast, atMost := t.stores.Load(), t.stores.Load()+s.Loads.OK.Count()
	switch {
	case s.Hits+s.Misses != t.gets.Load():
		return fmt.Sprintf("%d hits and %d misses, of %d gets", s.Hits, s.Misses, t.gets.Load())
	case s.Hits < t.hits.Load() || s.Misses < t.misses.Load():
		return fmt.Sprintf("%d hits and %d misses, but of Get alone there were %d and %d", s.Hits, s.Misses, t.hits.Load(), t.misses.Load())
	case s.Loads.OK.Count()+s.Loads.Failed.Count() != t.fetches.Load():
		return fmt.Sprintf("%d loads and %d failed ones, of %d fetches", s.Loads.OK.Count(), s.Loads.Failed.Count(), t.fetches.Load())
	case s.Sets < atLeast || s.Sets > atMost:
		return fmt.Sprintf("%d sets, want from %d to %d", s.Sets, atLeast, atMost)
	case s.Callbacks.Panics != t.panics.Load():
		return fmt.Sprintf("%d calls of OnRemove panicked, but the statistics say %d", t.panics.Load(), s.Callbacks.Panics)
	case s.Sets != s.Removals.Total()+uint64(s.Entries):
		return fmt.Sprintf("%d sets, %d removals and %d entries", s.Sets, s.Removals.Total(), s.Entries)
	}
	return ""
}

// compareAll compares the entries with the records: each stored value is in the cache or
// was reported.
func (t *target[K, V]) compareAll() {
	have, weight := make([]uint64, t.size), uint64(0)
	entries, limit := 0, int(t.bound.limit.Load())
	for k, value := range t.store.All() {
		key := t.index[k]
		n := t.numberOf(key, "All", value)
		if have[key] != 0 {
			t.wrong(key, "All", fmt.Sprintf("the key has two entries, with value %d and value %d", have[key], n))
		}
		have[key] = n
		entries++
		if t.weighs {
			weight += uint64(weightOf(t.number(value)))
		}
	}
	if limit > 0 && entries > limit {
		t.unfit("there are %d entries, the limit is %d", entries, limit)
	}
	if weight > t.options.MaxWeight {
		t.unfit("the entries weigh %d, the limit is %d", weight, t.options.MaxWeight)
	}
	at := now()
	for key, n := range have {
		t.wrong(key, "an audit", t.records[key].compare(n, at, int64(t.failed.patience)))
		t.read(&hand{}, key, true) // Peek
	}
}

// compare compares a record with the value that its key has, at rest.
func (r *record) compare(number uint64, at, patience int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number > r.last {
		return fmt.Sprintf("the key has value %d, which was never stored", number)
	}
	kept := r.open[:0]
	for _, it := range r.open {
		if r.ledger && it.number != number && it.stored && at < it.earliest {
			return fmt.Sprintf("value %d is neither in the cache, nor was OnRemove called for it", it.number)
		}
		waits := it.earliest <= at && at < plus(it.latest, patience) // perhaps for its report
		if it.number == number || it.stored || waits {
			kept = append(kept, it)
		}
	}
	r.open = slices.Clip(slices.Clone(kept)) // without loads that were not stored; the array shrinks too
	r.refresh()
	return ""
}

// close closes the cache at the end of the run and compares it with the records.
func (t *target[K, V]) close() {
	t.resting.Store(true)
	if wrong := eventually(t.failed, t.reportsDone); wrong != "" {
		t.unfit("before Close: %s", wrong)
	}
	t.clears.Add(1)
	for key := range t.records {
		t.begin(key, cleared, life{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.failed.patience)
	defer cancel()
	if err := t.store.Close(ctx); err != nil {
		t.unfit("Close: %v", err)
	}
	if wrong := t.reportsDone(); wrong != "" {
		t.unfit("after Close: %s", wrong)
	}
	if n := t.store.Len(); n != 0 {
		t.unfit("after Close there are %d entries", n)
	}
	for key := range t.records {
		if _, found := t.store.Get(t.keys[key]); found {
			t.wrong(key, "Get", "a closed cache has a value")
		}
		if r := &t.records[key]; r.ledger {
			for _, it := range r.open {
				if it.stored {
					t.wrong(key, "Close", fmt.Sprintf("OnRemove was not called for value %d", it.number))
				}
			}
		}
	}
}
