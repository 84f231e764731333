package libs

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/load"
)

func TestCheck(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			if err := Check(l); err != nil {
				t.Error(err)
			}
		})
	}
}

// A cache that keeps nothing must not pass.
func TestCheckSeesForgetting(t *testing.T) {
	l := Library{Name: "forgetful", Uint64: newNull[uint64, uint64], String: newNull[string, *uint64]}
	if Check(l) == nil {
		t.Error("Check has nothing against a cache that forgets what it is told")
	}
}

// TestTTL tests all at the same time, which subtests would not: they wait.
func TestTTL(t *testing.T) {
	var wg sync.WaitGroup
	for _, l := range All {
		if l.Sole {
			continue
		}
		wg.Go(func() { testTTL(t, l.Name, l.Uint64, load.Uint64s(0, 3)) })
		wg.Go(func() { testTTL(t, l.Name, l.String, load.Strings(0, 3)) })
	}
	wg.Wait()
}

// testTTL stores three entries, of which one is touched before its TTL ends and one has a longer
// one. A coarse clock may be some two seconds late after the machine stood still.
func testTTL[K Key, V any](t *testing.T, name string, make New[K, V], e load.Entries[K, V]) {
	const ttl = 8 * time.Second
	cache := make(Config[K, V]{Capacity: 10_000, TTL: ttl})
	if cache == nil || name == "null" {
		return
	}
	defer Close(cache)
	plain, touched, long := e.Keys[0], e.Keys[1], e.Keys[2]
	cache.Set(plain, e.Values[0])
	cache.Set(touched, e.Values[1])
	setter, sets := cache.(TTLSetter[K, V])
	if sets {
		setter.SetTTL(long, e.Values[2], time.Hour)
	}
	Settle(cache)
	time.Sleep(ttl * 3 / 4)
	toucher, touches := cache.(Toucher[K])
	began := time.Now()
	if touches {
		toucher.Touch(touched, ttl)
	}
	time.Sleep(ttl / 2)
	if _, ok := cache.Get(touched); touches && !ok && time.Since(began) < ttl*3/4 { // later it may be gone
		t.Errorf("%s: Touch had no effect", name)
	}
	time.Sleep(ttl / 2)
	if _, ok := cache.Get(plain); ok {
		t.Errorf("%s: an entry with a TTL of %v is still there after %v", name, ttl, 7*ttl/4)
	}
	if _, ok := cache.Get(long); sets && !ok {
		t.Errorf("%s: SetTTL had no effect", name)
	}
}

func TestTake(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			e := load.Strings(0, 1)
			loads := 0
			cache := l.String(Config[string, *uint64]{Capacity: 10_000, TTL: time.Hour, Load: func(key string) (*uint64, error) {
				loads++
				if key != e.Keys[0] {
					return nil, errors.New("another key")
				}
				return e.Values[0], nil
			}})
			taker, ok := cache.(Taker[string, *uint64])
			if !ok {
				return
			}
			defer Close(cache)
			for range 3 {
				value, err := taker.Take(e.Keys[0])
				if err != nil || *value != 0 {
					t.Fatalf("Take = %v, %v", value, err)
				}
			}
			if loads != 1 && l.Name != "null" {
				t.Errorf("%d loads, want one", loads)
			}
		})
	}
}
