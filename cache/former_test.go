package cache

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A miss is counted by the cause of a recent removal of its key.
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

// Of keys stored and removed at random, most are remembered, each with its last cause.
func TestFormer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SampledFrom([]int{1, 64, 1000, 100_000}).Draw(t, "entries")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		hashes := make([]uint64, 3*entries/2)
		for i := range hashes {
			hashes[i] = r.Uint64()
		}
		var g former
		last := map[uint64]Cause{}
		for range 2 * min(entries, 4*mostFormer) {
			h := hashes[r.IntN(len(hashes))]
			if cause := Cause(r.IntN(int(Cleared) + 1)); cause == 0 {
				g.forget(h)
				last[h] = 0
			} else if g.add(h, cause, entries); cause == Expired || cause == Evicted {
				last[h] = cause
			}
		}
		known, wrong := 0, 0
		for h, want := range last {
			switch got := g.cause(h); {
			case got == want:
				known++
			case got != 0:
				wrong++
			}
		}
		if wrong > 1+len(last)/1000 || len(g.slots) > max(2*entries, fewestFormer) || len(g.slots) > mostFormer {
			t.Fatalf("%d of %d are wrong, with %d slots for %d entries", wrong, len(last), len(g.slots), entries)
		}
		if entries == 1000 && known < len(last)/2 {
			t.Fatalf("only %d of %d are known", known, len(last))
		}
	})
}
