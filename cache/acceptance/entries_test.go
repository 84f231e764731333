package acceptance

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Promise 3: no lost, no immortal, no resurrected entry. Expiry removes an entry
// only if it is the one that expired; an entry always has its task; a load that
// began before a Set, Del or Clear of its key never stores over it.
//
// That expiry by key or by slot number does not hit the entry that came after is cache.TestModel, of many
// goroutines proof/lincheck.
func TestPromise3EntriesLiveTheirLife(t *testing.T) {
	// Immortal: catches a task lost between Del and Set, in a Clear, or when TTLs come and go.
	Bubble(t, "everything expires after a storm", everythingExpires)

	// Resurrected: catches a load that stores what was read before the key was changed.
	for _, f := range fences() {
		for _, take := range Takers() {
			Bubble(t, f.name+" fences "+take.Name, func(t *testing.T) { fenced(t, f, take) })
		}
	}
	Bubble(t, "expiry does not fence", expiryDoesNotFence)
}

func everythingExpires(t *testing.T) {
	var reported, stored atomic.Int64
	c := New(t, cache.Options[int, int]{
		Expire:   2 * time.Second,
		OnRemove: func(cache.Event[int, int]) { reported.Add(1) },
	})
	for range Scaled(20) {
		Together(8, func(g int) {
			rng := rand.New(rand.NewPCG(3, uint64(g)))
			for range 1000 {
				key := rng.IntN(20)
				ttl := time.Duration(1 + rng.Int64N(int64(3*time.Second)))
				switch rng.IntN(10) {
				case 0, 1, 2:
					stored.Add(1)
					c.SetWithExpire(key, g, ttl)
				case 3:
					stored.Add(1)
					c.Set(key, g)
				case 4:
					c.Touch(key, ttl)
				case 5, 6:
					c.Del(key)
				case 7:
					if _, loaded := c.GetOrSet(key, g); !loaded {
						stored.Add(1)
					}
				case 8:
					if rng.IntN(20) == 0 {
						c.Clear()
					}
				case 9:
					time.Sleep(time.Duration(rng.IntN(4)) * 50 * time.Millisecond)
				}
			}
		})
		time.Sleep(3*time.Second + MaxTick)
		synctest.Wait()
		WantLen(t, c, 0) // without a read
		if got := reported.Load(); got != stored.Load() {
			t.Fatalf("%d values reported, %d stored", got, stored.Load())
		}
	}
}

// fence is a change of "k" during a load that will return 1, and the value that "k" must
// have afterwards: want, or none if that is 0.
type fence struct {
	name   string
	change func(c *cache.Cache[string, int])
	want   int
}

// fences are some of the changes. What follows one another, beside loads, is proof/lincheck.
func fences() []fence {
	type C = *cache.Cache[string, int]
	return []fence{
		{"Set", func(c C) { c.Set("k", 2) }, 2},
		{"SetWithExpire negative", func(c C) { c.SetWithExpire("k", 2, -1) }, 0},
		{"Del", func(c C) { c.Del("k") }, 0},
		{"Clear", func(c C) { c.Clear() }, 0},
		{"Compute with OpDelete", func(c C) {
			c.Compute("k", func(int, bool) (int, cache.Op) { return 2, cache.OpDelete })
		}, 0},
		{"Set that evicts", func(c C) { c.Set("x", 3); c.Set("y", 4); c.Set("k", 2) }, 2},
		{"Set and eviction", func(c C) { c.Set("k", 2); c.Set("x", 3); c.Set("y", 4) }, 0},
		{"Set and expiry", func(c C) { c.SetWithExpire("k", 2, time.Millisecond); time.Sleep(time.Minute) }, 0},
	}
}

// fenced changes "k" during a load, and expects that the load does not store over the change.
func fenced(t *testing.T, f fence, take Taker) {
	for _, before := range []string{"absent", "expired"} {
		c := New(t, cache.Options[string, int]{Limit: 2})
		if before == "expired" {
			c.SetWithExpire("k", -1, time.Nanosecond)
			time.Sleep(time.Nanosecond)
		}
		gate := make(chan struct{})
		loader := Start(func() (int, error) { return take.Take(c, "k", Gated(gate, 1)) })
		waiter := Start(func() (int, error) { return take.Take(c, "k", FailFetch) })
		f.change(c)
		close(gate)
		loader.Want(t, 1, nil)
		waiter.Want(t, 1, nil)
		if v, ok := c.Get("k"); v != f.want || ok != (f.want != 0) {
			t.Errorf("%s before: Get = %d, %t after the load; want %d", before, v, ok, f.want)
		}
	}
}

// Catches: an expiry of the old value, during the load of the new one, that voids the load: then
// every expiry costs two loads.
func expiryDoesNotFence(t *testing.T) {
	for _, take := range Takers() {
		for _, late := range []time.Duration{0, 1, 99 * time.Millisecond, time.Second, time.Minute} {
			c := New(t, cache.Options[string, int]{})
			c.SetWithExpire("far", 1, time.Hour)
			time.Sleep(55 * time.Millisecond)
			c.SetWithExpire("k", 1, time.Second)
			time.Sleep(time.Second + late)
			v, err := take.Take(c, "k", func() (int, error) {
				time.Sleep(2 * MaxTick) // for the driver
				return 2, nil
			})
			if v != 2 || err != nil {
				t.Errorf("%s = %d, %v; want 2", take.Name, v, err)
			}
			if v, ok := c.Get("k"); v != 2 || !ok {
				t.Errorf("%s, begun %v after the old value expired: not stored", take.Name, late)
			}
		}
	}
}
