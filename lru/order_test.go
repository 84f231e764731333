package lru

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/internal/eviction"
)

// TestOrder compares both orders with the policies of package eviction that they stand for,
// called as the cache calls them.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 40).Draw(t, "slots")
		keys := make([]uint64, 200)
		o, policy := New(room), eviction.Policy(new(eviction.Order))
		hash := func(slot uint32) uint64 { return keys[slot] * 0x9e3779b97f4a7c15 }
		if rapid.Bool().Draw(t, "adaptive") {
			o, policy = NewAdaptive(room, hash), new(eviction.Adaptive)
		}
		policy.Resize(room)
		evict := func() (slot uint32, ok bool) {
			want, wanted := policy.Victim()
			for wanted && policy.Promote(want, hash(want)) {
				want, _ = policy.Victim()
			}
			if wanted {
				policy.Remove(want)
			}
			if slot, ok = o.Evict(); ok != wanted || ok && slot != want {
				t.Fatalf("Evict returns %d, %v; want %d, %v", slot, ok, want, wanted)
			}
			return slot, ok
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) { // for keys of which some come back
				for _, key := range rapid.SliceOfN(rapid.Uint64Range(1, uint64(room)*3/2+2), 1, 100).Draw(t, "keys") {
					if i := slices.Index(keys, key); i >= 0 && o.used[i] {
						o.Mark(uint32(i))
						policy.Mark(uint32(i))
						continue
					}
					i := slices.Index(o.used, false)
					if i < 0 {
						slot, ok := evict()
						if !ok {
							return // there is no slot
						}
						i = int(slot)
					}
					keys[i] = key
					o.Insert(uint32(i))
					policy.Insert(uint32(i), hash(uint32(i)))
				}
			},
			"remove": func(t *rapid.T) {
				if all := slices.Collect(o.All()); len(all) > 0 {
					i := rapid.SampledFrom(all).Draw(t, "slot")
					o.Remove(i)
					policy.Remove(i)
					keys[i] = 0
				}
			},
			"evict": func(*rapid.T) {
				if i, ok := evict(); ok {
					keys[i] = 0
				}
			},
			"resize": func(t *rapid.T) {
				least := 0
				for i, used := range o.used {
					if used {
						least = max(least, i+1)
					}
				}
				n := rapid.IntRange(least, least+20).Draw(t, "n")
				if n <= len(keys) {
					o.Resize(n)
					policy.Resize(n)
				}
			},
			"": func(t *rapid.T) {
				if got, want := slices.Collect(o.All()), slices.Collect(policy.All()); !slices.Equal(got, want) || o.Len() != len(want) {
					t.Fatalf("the order is %v, %d slots; want %v", got, o.Len(), want)
				}
			},
		})
	})
}

// TestWrongSlots: each wrong call panics at once, says what was wrong and changes nothing.
func TestWrongSlots(t *testing.T) {
	o := New(2)
	o.Insert(0)
	for want, f := range map[string]func(){
		"Insert of slot 2: want one below 2":                 func() { o.Insert(2) },
		"Insert of slot 0, which is in use: want a free one": func() { o.Insert(0) },
		"Mark of slot 1, which is free: want one in use":     func() { o.Mark(1) },
		"Remove of slot 1, which is free: want one in use":   func() { o.Remove(1) },
		"Remove of slot 4294967295: want one below 2":        func() { o.Remove(1<<32 - 1) },
		"Resize to 0 slots: want slot 0 free":                func() { o.Resize(0) },
		"-1 slots: want 0 to 2^31":                           func() { New(-1) },
		"hash is nil: want a function":                       func() { NewAdaptive(1, nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("the panic is %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
	if got := slices.Collect(o.All()); !slices.Equal(got, []uint32{0}) || o.Len() != 1 {
		t.Errorf("the order is %v, want slot 0", got)
	}
}

// TestMarks: goroutines mark at once, which the race detector watches.
func TestMarks(t *testing.T) {
	o := New(2)
	o.Insert(0)
	o.Insert(1)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				o.Mark(0)
			}
		})
	}
	all.Wait()
	if slot, ok := o.Evict(); slot != 1 || !ok {
		t.Errorf("Evict returns %d, %v; want 1, which was not marked", slot, ok)
	}
}
