package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func encodeInts(dst []byte, key, value int) ([]byte, error) {
	return fmt.Appendf(dst, "%d %d", key, value), nil
}

func decodeInts(b []byte) (key, value int, err error) {
	_, err = fmt.Sscanf(string(b), "%d %d", &key, &value)
	return key, value, err
}

func saved(t rapid.TB, c *cache.Cache[int, int]) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := c.Save(&file, encodeInts); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// setWallClock moves the wall clock for the rest of a test.
func setWallClock(t *testing.T, by time.Duration) {
	*cache.WallClock = func() time.Time { return time.Now().Add(by) }
	t.Cleanup(func() { *cache.WallClock = time.Now })
}

// TestSaveAndRestore checks that values, deadlines and weights come back, in caches with
// all kinds of options.
func TestSaveAndRestore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			o := cache.Options[int, int]{
				Expire: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(r, "expire"),
				Idle:   rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(r, "idle"),
				Policy: rapid.SampledFrom([]cache.Policy{cache.LRU, cache.Adaptive}).Draw(r, "policy"),
				Schema: rapid.StringN(0, 20, -1).Draw(r, "schema"),
			}
			switch rapid.IntRange(0, 2).Draw(r, "limit") {
			case 1:
				o.Limit = 1000
			case 2:
				o.MaxWeight, o.Weigh = 10_000, func(_, v int) uint32 { return uint32(v) }
			}
			from, to := cache.Must(o), cache.Must(o)
			from.SetShards(rapid.SampledFrom([]int{1, 4}).Draw(r, "shards"))
			want := map[int]time.Duration{}
			for range rapid.IntRange(0, 300).Draw(r, "sets") {
				k := rapid.IntRange(0, 400).Draw(r, "key")
				ttl := rapid.SampledFrom([]time.Duration{0, time.Nanosecond, time.Second, 24 * time.Hour}).Draw(r, "ttl")
				from.SetWithExpire(k, k%7, ttl)
				want[k] = ttl
			}
			file := saved(r, from)
			away := rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Second}).Draw(r, "away")
			time.Sleep(away)
			maps.DeleteFunc(want, func(_ int, ttl time.Duration) bool { return ttl > 0 && ttl <= away })
			n, err := to.Restore(bytes.NewReader(file), decodeInts)
			if err != nil || n < len(want) {
				r.Fatalf("Restore = %d, %v, want %d", n, err, len(want))
			}
			for k, ttl := range want {
				e, ok := to.Entry(k)
				left := ttl - away
				if ttl == 0 {
					left = 1<<63 - 1
				}
				if o.Idle > 0 {
					left = min(left, o.Idle)
				}
				if !ok || e.Value != k%7 || ttl != time.Nanosecond && e.TTL != left {
					r.Fatalf("Entry(%d) = %+v, %v; want %d with %v left", k, e, ok, k%7, left)
				}
			}
			if err := to.Check(); err != nil {
				r.Fatal(err)
			}
		})
	})
}

// TestSnapshotsAreColdestFirst checks that a smaller cache that restores a snapshot keeps
// the entries used last.
func TestSnapshotsAreColdestFirst(t *testing.T) {
	for _, policy := range []cache.Policy{cache.LRU, cache.Adaptive} {
		for _, shards := range []int{1, 8} {
			from := cache.Must(cache.Options[int, int]{Limit: 4000, Policy: policy})
			from.SetShards(shards)
			for k := range 12_000 {
				from.Set(k, k)
				for hot := range 300 {
					if k%100 == 0 {
						from.Get(-1 - hot)
						from.GetOrSet(-1-hot, 0)
					}
				}
			}
			to := cache.Must(cache.Options[int, int]{Limit: 1000, OnRemove: func(e cache.Event[int, int]) { t.Errorf("told %+v", e) }})
			n, err := to.Restore(bytes.NewReader(saved(t, from)), decodeInts)
			if err != nil || n != 1000 || to.Len() != 1000 {
				t.Errorf("Restore = %d, %v; %d entries", n, err, to.Len())
			}
			hot, young := 0, 0
			for k := range to.All() {
				if k < 0 {
					hot++
				} else if k >= 8000 {
					young++
				}
			}
			if hot < 290 || hot+young < 990 {
				t.Errorf("%v, %d shards: %d of 300 hot entries came back, and %d of the young", policy, shards, hot, young)
			}
			if err := to.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestMarksComeBack checks that entries used before a Save are passed over by eviction
// after the Restore.
func TestMarksComeBack(t *testing.T) {
	from := cache.Must(cache.Options[int, int]{Limit: 10})
	for k := range 10 {
		from.Set(k, k)
	}
	from.Get(0)
	to := cache.Must(cache.Options[int, int]{Limit: 10})
	if _, err := to.Restore(bytes.NewReader(saved(t, from)), decodeInts); err != nil {
		t.Fatal(err)
	}
	for k := range 10 { // nine evict the unused ones, which were restored first
		to.Set(10+k, k)
	}
	if _, ok := to.Peek(0); !ok {
		t.Error("the one that was used was evicted")
	}
	if _, ok := to.Peek(10); ok {
		t.Error("the oldest one that was not used is still there")
	}
}

// TestRestoreChangesNothing checks that Restore changes neither entries nor loads under
// way.
func TestRestoreChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := cache.Must(cache.Options[int, int]{})
		for k := range 4 {
			from.Set(k, 100+k)
		}
		file := saved(t, from)
		var events atomic.Int32
		to := cache.Must(cache.Options[int, int]{OnRemove: func(cache.Event[int, int]) { events.Add(1) }, Negative: forASecond})
		to.Set(0, 7)
		if _, err := to.Take(3, func() (int, error) { return 0, errNotFound }); err != errNotFound {
			t.Error(err)
		}
		loaded := make(chan int)
		go func() {
			v, _ := to.Take(1, func() (int, error) { time.Sleep(time.Second); return 8, nil })
			loaded <- v
		}()
		synctest.Wait()
		n, err := to.Restore(bytes.NewReader(file), func(b []byte) (int, int, error) {
			if s := to.Stats(); s.Sets != 1 || int(s.Restored)+1 != s.Entries { // it is no Set
				t.Errorf("%d sets, %d restored, %d entries", s.Sets, s.Restored, s.Entries)
			}
			return decodeInts(b)
		})
		if err != nil || n != 2 {
			t.Errorf("Restore = %d, %v; want 2", n, err)
		}
		synctest.Wait()
		if n := events.Load(); n != 0 {
			t.Errorf("OnRemove was told of %d", n)
		}
		if v := <-loaded; v != 8 {
			t.Errorf("the load returned %d", v)
		}
		if got, want := maps.Collect(to.All()), map[int]int{0: 7, 1: 8, 2: 102}; !maps.Equal(got, want) {
			t.Errorf("the cache has %v, want %v", got, want)
		}
		if s := to.Stats(); s.Restored != 2 {
			t.Errorf("%d entries count as restored", s.Restored)
		}
	})
}

// TestRestoreEvictsNothing restores into caches that have entries, also in Grace, and little
// room. All that was there stays, without an event, and of the snapshot the hottest entries for
// which there is room come back, though others of it have expired or are too heavy.
func TestRestoreEvictsNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			limit := rapid.IntRange(1, 30).Draw(r, "limit")
			o := cache.Options[int, int]{Expire: time.Minute, Grace: time.Hour, Policy: rapid.SampledFrom([]cache.Policy{cache.LRU, cache.Adaptive}).Draw(r, "policy")}
			size := func(int, int) uint32 { return 1 }
			switch rapid.SampledFrom([]string{"entries", "weight", "none"}).Draw(r, "limits") {
			case "entries":
				o.Limit = limit
			case "weight":
				size = func(k, _ int) uint32 { return uint32(1 + k%5) }
				o.MaxWeight, o.Weigh = uint64(limit), size
			default:
				limit = 1000
			}
			from := cache.Must(cache.Options[int, int]{Limit: 1000, Expire: time.Hour})
			for k := range rapid.IntRange(0, 60).Draw(r, "saved") {
				from.SetWithExpire(k, -k, rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(r, "ttl"))
			}
			file := saved(r, from)
			time.Sleep(time.Second)

			var events atomic.Int32
			o.OnRemove = func(cache.Event[int, int]) { events.Add(1) }
			to := cache.Must(o)
			want, room := map[int]int{}, limit
			for _, k := range rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 0, min(limit, 30), rapid.ID).Draw(r, "present") {
				if n := int(size(k, 0)); n <= room {
					to.SetWithExpire(k, k, rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(r, "lives"))
					room -= n
					want[k] = k
				}
			}
			time.Sleep(time.Millisecond) // some are in Grace now
			var order []int
			for e := range from.Entries() {
				order = append(order, e.Key)
			}
			slices.Sort(order) // as they were stored, so the coldest first
			most, restored := uint32(room), 0
			for _, k := range slices.Backward(order) {
				if _, ok := want[k]; ok || size(k, 0) > most {
					continue
				}
				if room -= int(size(k, 0)); room < 0 {
					break
				}
				want[k] = -k
				restored++
			}
			if n, err := to.Restore(bytes.NewReader(file), decodeInts); n != restored || err != nil {
				r.Fatalf("Restore = %d, %v; want %d", n, err, restored)
			}
			got := map[int]int{}
			for k := range 61 {
				if v, err := to.Take(k, func() (int, error) { return 0, errDown }); err == nil {
					got[k] = v
				}
			}
			synctest.Wait()
			if s := to.Stats(); !maps.Equal(got, want) || events.Load() != 0 || s.Restored != uint64(restored) || s.Sets != uint64(len(want)-restored) {
				r.Fatalf("the cache has %v, want %v; %d events, %d sets, %d restored", got, want, events.Load(), s.Sets, s.Restored)
			}
			if err := to.Check(); err != nil {
				r.Fatal(err)
			}
			cache.MustClose(t, to)
		})
	})
}

// TestRestoreBesideChanges: a value that others are about to make of what the cache has is not
// of the snapshot: an old value that a load finds Unchanged.
func TestRestoreBesideChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := cache.Must(cache.Options[int, int]{})
		for k := range 2 {
			from.Set(k, 100+k)
		}
		file := saved(t, from)
		to := cache.Must(cache.Options[int, int]{Expire: time.Minute, Grace: time.Hour})
		restore := func() {
			if _, err := to.Restore(bytes.NewReader(file), decodeInts); err != nil {
				t.Error(err)
			}
		}
		for k, takes := range []time.Duration{0, 2 * time.Hour} { // longer than Grace: the old value goes
			to.Set(k, k+1)
			time.Sleep(time.Minute)
			v, err := to.TakeWith(t.Context(), k, func(_ context.Context, l *cache.Load[int]) (int, error) {
				time.Sleep(takes)
				restore()
				l.Unchanged = true
				return 0, nil
			})
			time.Sleep(takes)
			synctest.Wait()
			if got, ok := to.Peek(k); v != k+1 || err != nil || ok && got != v {
				t.Errorf("TakeWith = %d, %v, and the cache has %d, %t", v, err, got, ok)
			}
		}
	})
}

// TestClocksThatAreSet checks that no entry has more time left than when it was saved,
// however clocks are set between Save and Restore.
func TestClocksThatAreSet(t *testing.T) {
	for by, want := range map[time.Duration]time.Duration{0: time.Hour, -24 * time.Hour: time.Hour, 30 * time.Minute: 30 * time.Minute, time.Hour: 0, 24 * time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			from := cache.Must(cache.Options[int, int]{Expire: time.Hour})
			from.Set(1, 1)
			file := saved(t, from)
			setWallClock(t, by)
			to := cache.Must(cache.Options[int, int]{Expire: time.Hour})
			n, err := to.Restore(bytes.NewReader(file), decodeInts)
			if left, ok := to.TTL(1); err != nil || left != want || ok != (want > 0) || n != to.Len() {
				t.Errorf("clock set by %v: Restore = %d, %v; %v left, want %v", by, n, err, left, want)
			}
		})
	}
}

// TestSnapshotErrors checks that errors of Save and Restore say what was wrong.
func TestSnapshotErrors(t *testing.T) {
	from := cache.Must(cache.Options[int, int]{Schema: "v1"})
	from.Set(1, 1)
	file := saved(t, from)
	failed := errors.New("failed")
	for want, restore := range map[string]func() (int, error){
		`Schema of the snapshot is "v1", that of the cache "v2"`: func() (int, error) {
			return cache.Must(cache.Options[int, int]{Schema: "v2"}).Restore(bytes.NewReader(file), decodeInts)
		},
		"not a snapshot": func() (int, error) { return from.Restore(strings.NewReader("hello, world"), decodeInts) },
		"decode of entry 1: cache: panicked: oops": func() (int, error) {
			return from.Restore(bytes.NewReader(file), func([]byte) (int, int, error) { panic("oops") })
		},
		"decode of entry 1: failed": func() (int, error) {
			return from.Restore(bytes.NewReader(file), func([]byte) (int, int, error) { return 0, 0, failed })
		},
		"encode: failed": func() (int, error) {
			return 0, from.Save(&bytes.Buffer{}, func(b []byte, _, _ int) ([]byte, error) { return b, failed })
		},
		"Schema has 2000 bytes": func() (int, error) {
			return 0, cache.Must(cache.Options[int, int]{Schema: strings.Repeat("x", 2000)}).Save(&bytes.Buffer{}, encodeInts)
		},
	} {
		if n, err := restore(); n != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d, %v; want %q", n, err, want)
		}
	}
}

// TestSaveNeedsNoAllocations checks that Save allocates nothing per entry.
func TestSaveNeedsNoAllocations(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Limit: 10_000})
	for k := range 10_000 {
		c.Set(k, k)
	}
	allocations := testing.AllocsPerRun(3, func() {
		_ = c.Save(io.Discard, func(b []byte, k, v int) ([]byte, error) {
			return strconv.AppendInt(strconv.AppendInt(b, int64(k), 10), int64(v), 10), nil
		})
	})
	if allocations > 1000 {
		t.Errorf("%v allocations for 10,000 entries", allocations)
	}
}

// TestSaveLeavesOutGraceAndErrors checks that values in Grace and kept errors are not
// saved.
func TestSaveLeavesOutGraceAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		absent := errors.New("no such key")
		c := cache.Must(cache.Options[int, int]{Expire: time.Minute, Grace: time.Hour, Negative: func(error) time.Duration { return time.Hour }})
		c.Set(1, 1)
		time.Sleep(time.Minute)
		c.Set(2, 2)
		_, _ = c.Take(3, func() (int, error) { return 0, absent })
		restored := cache.Must(cache.Options[int, int]{Grace: time.Hour})
		if n, err := restored.Restore(bytes.NewReader(saved(t, c)), decodeInts); n != 1 || err != nil {
			t.Errorf("Restore = %d, %v; want the fresh one", n, err)
		}
		if v, ok := restored.Peek(2); v != 2 || !ok {
			t.Errorf("Peek = %d, %v", v, ok)
		}
	})
}
