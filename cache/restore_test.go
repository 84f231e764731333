package cache

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// quiet makes options that fail a test at any event but one of an expired value.
func quiet[K comparable, V any](t rapid.TB, o Options[K, V]) Options[K, V] {
	o.OnRemove = func(e Event[K, V]) {
		if e.Cause != Expired {
			t.Errorf("OnRemove was told %+v", e)
		}
	}
	return o
}

// TestRestoreEvictsNothing checks that what a full cache has stays, without an event, whether the
// snapshot has its keys too or not, and that the hottest others take the room that is left.
func TestRestoreEvictsNothing(t *testing.T) {
	from := Must(Options[int, int]{Limit: 100})
	for k := range 10 {
		from.Set(k, 100+k)
	}
	file := saved(t, from)
	for _, first := range []int{-1, 9} { // of the keys that are there already; the next are lower
		for there := range 11 {
			to := Must(quiet(t, Options[int, int]{Limit: 10}))
			want := map[int]int{}
			for k := range there {
				to.Set(first-k, k)
				want[first-k] = k
			}
			for k := 9; len(want) < 10; k-- {
				if _, has := want[k]; !has {
					want[k] = 100 + k
				}
			}
			n, err := to.Restore(bytes.NewReader(file), decodeInts)
			if got := maps.Collect(to.All()); err != nil || n != 10-there || !maps.Equal(got, want) {
				t.Errorf("%d of 10 there: Restore = %d, %v; the cache has %v, want %v", there, n, err, got, want)
			}
			if err := errors.Join(to.check(), to.Wait(t.Context())); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRestoreWhileTheCacheFills checks that what others store meanwhile stays, also if there was
// room for the whole snapshot at first.
func TestRestoreWhileTheCacheFills(t *testing.T) {
	from := Must(Options[int, int]{Limit: 10})
	for k := range 10 {
		from.Set(k, k)
	}
	file := saved(t, from)
	for _, there := range []int{0, 3} { // with 3 there is not room for all
		to := Must(quiet(t, Options[int, int]{Limit: 10}))
		for k := range there {
			to.Set(-1-k, k)
		}
		n, err := to.Restore(bytes.NewReader(file), func(b []byte) (int, int, error) {
			k, v, err := decodeInts(b)
			if k < 4 {
				to.Set(100+k, k)
			}
			return k, v, err
		})
		if err != nil || n != 10-4-there || to.Len() != 10 {
			t.Errorf("beside %d: Restore = %d, %v; %d entries", there, n, err, to.Len())
		}
		if err := errors.Join(to.check(), to.Wait(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

// TestRestoreOfHeavyValues checks that an entry heavier than MaxWeight, or than the room that is
// left, is left out without an event, and costs no other.
func TestRestoreOfHeavyValues(t *testing.T) {
	weigh := func(_, v int) uint32 { return uint32(v) }
	from := Must(Options[int, int]{MaxWeight: 1000, Weigh: weigh})
	for k, weight := range []int{3, 0, 4, 500, 5} {
		from.Set(k, weight)
	}
	unweighed := Must(Options[int, int]{})
	for k, weight := range []int{3, 0, 4, 500, 5} {
		unweighed.Set(k, weight)
	}
	for name, file := range map[string][]byte{"weighed": saved(t, from), "not weighed": saved(t, unweighed)} {
		for there, want := range map[int]map[int]int{
			0:  {0: 3, 1: 0, 2: 4, 4: 5},
			93: {1: 0, 4: 5},
			99: {1: 0},
		} {
			to := Must(quiet(t, Options[int, int]{MaxWeight: 100, Weigh: weigh}))
			to.Set(-1, there)
			want[-1] = there
			n, err := to.Restore(bytes.NewReader(file), decodeInts)
			if got := maps.Collect(to.All()); err != nil || n != len(want)-1 || !maps.Equal(got, want) {
				t.Errorf("%s, beside a weight of %d: Restore = %d, %v; the cache has %v, want %v", name, there, n, err, got, want)
			}
			if err := errors.Join(to.check(), to.Wait(t.Context())); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRestoreIntoASmallerCache checks that the entries used last fill it, although the header
// of the snapshot counts some that were not saved, and others have expired since.
func TestRestoreIntoASmallerCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := Must(Options[int, int]{Grace: time.Hour})
		for k := range 40 {
			from.SetWithExpire(k, k, time.Minute) // in Grace when saved
		}
		time.Sleep(time.Minute)
		for k := range 40 {
			from.SetWithExpire(100+k, k, time.Hour)
		}
		for k := range 10 {
			from.SetWithExpire(200+k, k, time.Minute) // expired when restored
		}
		file := saved(t, from)
		time.Sleep(time.Minute)
		to := Must(quiet(t, Options[int, int]{Limit: 30}))
		n, err := to.Restore(bytes.NewReader(file), decodeInts)
		if err != nil || n != 30 || to.Len() != 30 {
			t.Errorf("Restore = %d, %v; %d entries, want 30 of the 40 that have not expired", n, err, to.Len())
		}
	})
}

// TestRestoreBesideGrace checks that a value in Grace, and what a load finds out about it, are
// left alone.
func TestRestoreBesideGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := Must(Options[int, int]{})
		from.Set(1, 100)
		file := saved(t, from)
		restore := func(to *Cache[int, int]) {
			if n, err := to.Restore(bytes.NewReader(file), decodeInts); n != 0 || err != nil {
				t.Errorf("Restore = %d, %v; want nothing", n, err)
			}
		}
		to := Must(quiet(t, Options[int, int]{Expire: time.Minute, Grace: time.Minute, Patience: time.Hour}))
		to.Set(1, 7)
		time.Sleep(time.Minute)
		restore(to)
		for _, during := range []time.Duration{time.Second, time.Minute} { // Grace ends in the second load
			got, err := to.TakeWith(t.Context(), 1, func(_ context.Context, l *Load[int]) (int, error) {
				time.Sleep(during)
				restore(to)
				l.Unchanged = true
				return 0, nil
			})
			if v, ok := to.Peek(1); err != nil || got != 7 || ok && v != 7 {
				t.Errorf("a load of %v: TakeWith = %d, %v; then Peek = %d, %v", during, got, err, v, ok)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestRestoreBesideCompute checks that Compute still sees each change of its key.
func TestRestoreBesideCompute(t *testing.T) {
	from := Must(Options[int, int]{})
	from.Set(1, 100)
	file := saved(t, from)
	to := Must(quiet(t, Options[int, int]{}))
	to.Compute(1, func(_ int, found bool) (int, Op) {
		n, err := to.Restore(bytes.NewReader(file), decodeInts)
		if found || n != 0 || err != nil {
			t.Errorf("found is %v; Restore = %d, %v", found, n, err)
		}
		return 7, OpSet
	})
	if v, _ := to.Peek(1); v != 7 {
		t.Errorf("the key has %d", v)
	}
	if err := to.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRestoreBesideKeptErrors checks that an answer of this program counts, not that of the one
// before: a row was deleted meanwhile.
func TestRestoreBesideKeptErrors(t *testing.T) {
	from := Must(Options[int, int]{})
	from.Set(1, 100)
	file := saved(t, from)
	noRow := errors.New("no such row")
	to := Must(Options[int, int]{Negative: func(error) time.Duration { return time.Hour }})
	fetch := func() (int, error) { return 0, noRow }
	if _, err := to.Take(1, fetch); err != noRow {
		t.Fatal(err)
	}
	if n, err := to.Restore(bytes.NewReader(file), decodeInts); n != 0 || err != nil {
		t.Errorf("Restore = %d, %v", n, err)
	}
	if v, err := to.Take(1, fetch); err != noRow {
		t.Errorf("Take = %d, %v; want the kept error", v, err)
	}
}

// TestRestoreModel checks Restore in a cache in any state: all that was there stays, the hottest
// of the others that fit come in, and there is no event.
func TestRestoreModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			most := rapid.IntRange(1, 30).Draw(r, "most")
			weighs := rapid.Bool().Draw(r, "weighs")
			large, o := Options[int, int]{Limit: 1000}, Options[int, int]{Limit: most}
			if weighs {
				large = Options[int, int]{MaxWeight: 1000, Weigh: func(_, v int) uint32 { return uint32(v) }}
				o = Options[int, int]{MaxWeight: uint64(most), Weigh: large.Weigh}
			}
			sizeOf := func(v int) int {
				if weighs {
					return v
				}
				return 1
			}
			values := rapid.MapOf(rapid.IntRange(0, 20), rapid.IntRange(0, 9))

			from := Must(large)
			snapshot := values.Draw(r, "snapshot")
			order := slices.Sorted(maps.Keys(snapshot)) // from the coldest on
			for _, k := range order {
				from.Set(k, snapshot[k])
			}

			o.Expire, o.Grace = time.Minute, rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(r, "grace")
			to := Must(quiet(r, o))
			want, free := map[int]int{}, most
			present := values.Draw(r, "present")
			for _, k := range slices.Sorted(maps.Keys(present)) {
				if v := present[k]; sizeOf(v) <= free {
					to.Set(k, v)
					want[k] = v
					free -= sizeOf(v)
				}
			}
			if rapid.Bool().Draw(r, "later") { // they are in Grace, or gone
				time.Sleep(time.Minute + time.Second)
				synctest.Wait() // for the tick
				if o.Grace == 0 {
					want, free = map[int]int{}, most
				}
			}
			candidates, size, there := []int{}, 0, len(want)
			for _, k := range order {
				_, has := want[k]
				switch n := sizeOf(snapshot[k]); {
				case has || n > free:
				case n == 0:
					want[k] = 0
				default:
					candidates = append(candidates, k)
					size += n
				}
			}
			for _, k := range candidates {
				if size <= free {
					want[k] = snapshot[k]
				} else {
					size -= sizeOf(snapshot[k])
				}
			}

			n, err := to.Restore(bytes.NewReader(saved(r, from)), decodeInts)
			if err != nil || n != len(want)-there {
				r.Fatalf("Restore = %d, %v; want %d", n, err, len(want)-there)
			}
			got := map[int]int{}
			for i := range to.allShards() {
				entries := to.allShards()[i].entries
				for j := range entries {
					if e := &entries[j]; e.live() {
						got[e.key] = e.value
					}
				}
			}
			if err := errors.Join(to.check(), to.Wait(t.Context())); err != nil || !maps.Equal(got, want) {
				r.Fatalf("the cache has %v, want %v; %v", got, want, err)
			}
		})
	})
}

// TestRestoreIsCounted checks that Sets counts what the program stores and nothing else, at any
// moment of a Restore.
func TestRestoreIsCounted(t *testing.T) {
	const sets, entries = 50, 2000
	from := Must(Options[int, int]{})
	for k := range entries {
		from.Set(1000+k, k)
	}
	file := saved(t, from)
	to := Must(Options[int, int]{})
	for k := range sets {
		to.Set(k, k)
	}
	var watchers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		watchers.Go(func() {
			for last := uint64(0); ; {
				s := to.Stats()
				if s.Sets != sets || s.Restored < last {
					t.Errorf("%d values stored, want %d; %d restored, and %d before", s.Sets, sets, s.Restored, last)
					return
				}
				last = s.Restored
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for round := range 20 {
		n, err := to.Restore(bytes.NewReader(file), func(b []byte) (int, int, error) {
			key, value, err := decodeInts(b)
			return key + round*entries, value, err
		})
		if n != entries || err != nil {
			t.Errorf("Restore = %d, %v", n, err)
		}
	}
	close(done)
	watchers.Wait()
	if s := to.Stats(); s.Restored != 20*entries || s.Sets != sets {
		t.Errorf("%d restored, %d stored", s.Restored, s.Sets)
	}
}

// TestDecodeThatPanics checks that a panic of decode is an error of Restore, which says where and
// keeps the entries before, also those that it still held back.
func TestDecodeThatPanics(t *testing.T) {
	from := Must(Options[int, int]{Limit: 100})
	for k := range 10 {
		from.Set(k, k)
	}
	file := saved(t, from)
	for limit, want := range map[int]int{0: 6, 3: 3} {
		to := Must(Options[int, int]{Limit: limit})
		calls := 0
		n, err := to.Restore(bytes.NewReader(file), func(b []byte) (int, int, error) {
			if calls++; calls == 7 {
				var none []int
				_ = none[calls]
			}
			return decodeInts(b)
		})
		var panicked *PanicError
		if !errors.As(err, &panicked) || !strings.Contains(err.Error(), "decode of entry 7") || len(panicked.Stack) == 0 {
			t.Errorf("limit %d: the error is %v", limit, err)
		}
		if n != want || to.Len() != want {
			t.Errorf("limit %d: %d restored, %d entries, want %d", limit, n, to.Len(), want)
		}
	}
}
