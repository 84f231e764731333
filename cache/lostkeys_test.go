package cache

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestMissesByReason checks that a miss is counted by the cause of a recent removal of its
// key.
func TestMissesByReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: 100, Expire: time.Second})
		defer c.Close(t.Context())
		want := func(what string, expired, evicted, absent uint64, gets ...int) {
			t.Helper()
			before := c.Stats()
			for _, key := range gets {
				if _, ok := c.Get(key); ok {
					t.Errorf("%s: %d is there", what, key)
				}
			}
			s := c.Stats().Minus(before)
			if s.MissesExpired != expired || s.MissesEvicted != evicted || s.MissesAbsent() != absent {
				t.Errorf("%s: %d expired, %d evicted, %d absent; want %d, %d, %d", what, s.MissesExpired, s.MissesEvicted, s.MissesAbsent(), expired, evicted, absent)
			}
		}
		want("a key that never was there", 0, 0, 1, 1)
		c.Set(1, 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c.Len() != 0 {
			t.Fatal("the wheel has not come by")
		}
		want("expired, and removed by the wheel", 2, 0, 0, 1, 1)
		c.Set(1, 1)
		c.Del(1)
		want("stored again, and deleted", 0, 0, 1, 1)
		for key := range 101 {
			c.SetWithExpire(1000+key, key, 0)
		}
		want("the first of one too many", 0, 1, 0, 1000)
		c.Set(1000, 1)
		c.Clear()
		want("cleared", 0, 0, 1, 1000)
	})
}

// TestLostKeys checks that after random stores and removals most keys of the sample are
// remembered, each with its last cause.
func TestLostKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SampledFrom([]int{1, 64, 500, 1000, 100_000}).Draw(t, "entries")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		hashes := make([]uint64, 3*entries/2)
		for i := range hashes {
			hashes[i] = r.Uint64()
		}
		var l lostKeys
		last := map[uint64]Cause{}
		for range min(2*entries, 1<<16) {
			h := hashes[r.IntN(len(hashes))]
			if cause := Cause(r.IntN(int(Cleared) + 1)); cause == 0 {
				l.forget(h)
				last[h] = 0
			} else if l.add(h, cause, entries); cause == Expired || cause == Evicted {
				last[h] = cause
			}
		}
		sampled, known, wrong, slots := 0, 0, 0, 0
		for h, want := range last {
			got := l.cause(h)
			switch {
			case !l.remembers(h):
				if got != 0 {
					t.Fatalf("a key that is not in the sample went for %v", got)
				}
				continue
			case got == want:
				known++
			case got != 0:
				wrong++
			}
			sampled++
		}
		if l.slots != nil {
			slots = len(*l.slots)
		}
		if wrong > 1+sampled/1000 || slots > max(2*entries, minLostSlots) || slots > maxLostSlots {
			t.Fatalf("%d of %d are wrong, with %d slots for %d entries", wrong, sampled, slots, entries)
		}
		if entries > 64 && known < sampled/2 {
			t.Fatalf("only %d of %d are known", known, sampled)
		}
		if entries <= maxLostSlots && sampled != len(last) || entries > maxLostSlots && sampled*entries > 2*maxLostSlots*len(last) {
			t.Fatalf("a sample of %d from %d keys, for %d entries", sampled, len(last), entries)
		}
	})
}

// TestLostKeysEstimate checks that the counts by cause are right although only a sample of
// many keys is remembered, also if most misses are of one unknown key, and when the causes
// change.
func TestLostKeysEstimate(t *testing.T) {
	for _, entries := range []int{2000, 20_000, 200_000} {
		r := rand.New(rand.NewPCG(1, uint64(entries)))
		var l lostKeys
		l.add(r.Uint64(), Expired, entries)
		never := r.Uint64()
		for tries := 0; l.remembers(never); never = r.Uint64() {
			if tries++; tries > 100 {
				t.Fatalf("of %d entries all keys are in the sample", entries)
			}
		}
		for _, want := range [][3]float64{{0.6, 0.3, 0.1}, {0.1, 0, 0.9}, {0, 1, 0}, {0, 0, 1}} {
			const misses = 1 << 20
			var got [3]float64 // absent, expired, evicted
			for range misses {
				h, cause := r.Uint64(), Evicted
				switch part := r.Float64(); {
				case part < want[0]:
					h = never
				case part < want[0]+want[1]:
					cause = Expired
					fallthrough
				default:
					l.add(h, cause, entries)
				}
				got[l.causeOfMiss(h)] += 1. / misses
				l.forget(h)
			}
			for i := range got {
				if math.Abs(got[i]-want[i]) > 0.03 {
					t.Errorf("%d entries: parts %.3f, want %.3f", entries, got, want)
					break
				}
			}
		}
	}
}
