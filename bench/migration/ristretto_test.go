package migration

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// heldUp returns a ristretto whose goroutine that applies Sets waits until release is
// called, as it might on a busy machine.
func heldUp(t *testing.T) (r *ristretto.Cache[uint64, int], release func()) {
	t.Helper()
	gate, held := make(chan struct{}), make(chan struct{})
	r = must(ristretto.NewCache(&ristretto.Config[uint64, int]{
		NumCounters: 1000, MaxCost: 100, BufferItems: 64,
		IgnoreInternalCost: true,
		Cost: func(int) int64 { // called by that goroutine for a cost of 0
			close(held)
			<-gate
			return 1
		},
	}))
	r.Set(0, 0, 0)
	<-held
	return r, func() { close(gate); r.Wait(); t.Cleanup(r.Close) }
}

// A new key is not there when Set returns, even if that returns true.
func TestRistrettoSetIsLater(t *testing.T) {
	r, release := heldUp(t)
	want(t, "ristretto: Set", r.Set(1, 1, 1), true)
	want(t, "ristretto: Get after Set", has(r.Get(1)), false)
	release()
	want(t, "ristretto: Get after Wait", has(r.Get(1)), true)

	p := pinwheel(t, cache.Options[uint64, int]{Limit: 100})
	p.Set(1, 1)
	want(t, "ours: Get after Set", has(p.Get(1)), true)
}

// Of two Sets of a new key, both of which return true, the first can win.
func TestRistrettoFirstSetWins(t *testing.T) {
	r, release := heldUp(t)
	want(t, "ristretto: Set", r.Set(1, 1, 1) && r.Set(1, 2, 1), true)
	release()
	want(t, "ristretto: value after Set of 1 and then 2", value(r.Get(1)), 1)

	p := pinwheel(t, cache.Options[uint64, int]{Limit: 100})
	p.Set(1, 1)
	p.Set(1, 2)
	want(t, "ours: value after Set of 1 and then 2", value(p.Get(1)), 2)
}

func TestRistrettoDropsSets(t *testing.T) {
	r, release := heldUp(t)
	dropped := 0
	for key := range uint64(40_000) {
		if !r.Set(1+key, 1, 1) {
			dropped++
		}
	}
	release()
	want(t, "ristretto: Sets dropped of 40,000", dropped, 40_000-32*1024)
}

func TestRistrettoTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := must(ristretto.NewCache(&ristretto.Config[string, int]{
			NumCounters: 1000, MaxCost: 10_000, BufferItems: 64,
		}))
		defer r.Close()
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Minute})

		r.SetWithTTL("negative", 1, 1, time.Hour)
		r.Wait()
		want(t, "ristretto: Set with a negative TTL", r.SetWithTTL("negative", 2, 1, -1), false)
		want(t, "ristretto: value after a negative TTL", value(r.Get("negative")), 1)
		p.SetWithExpire("negative", 1, time.Hour)
		p.SetWithExpire("negative", 2, -1)
		want(t, "ours: there after a negative TTL", has(p.Get("negative")), false)

		r.Set("set", 1, 1)
		r.SetWithTTL("zero", 1, 1, 0)
		r.Wait()
		p.Set("set", 1)
		p.SetWithExpire("zero", 1, 0)
		time.Sleep(time.Hour)
		want(t, "ristretto: there an hour after Set", has(r.Get("set")), true)
		want(t, "ours: there an hour after Set", has(p.Get("set")), false) // its Expire is a minute
		want(t, "ristretto: there an hour after a TTL of 0", has(r.Get("zero")), true)
		want(t, "ours: there an hour after a TTL of 0", has(p.Get("zero")), true)
	})
}

// ristretto adds 56 to each cost, unless IgnoreInternalCost is set.
func TestRistrettoInternalCost(t *testing.T) {
	r := must(ristretto.NewCache(&ristretto.Config[uint64, int]{
		NumCounters: 10_000, MaxCost: 1000, BufferItems: 64,
	}))
	defer r.Close()
	p := pinwheel(t, cache.Options[uint64, int]{
		MaxWeight: 1000,
		Weigh:     func(uint64, int) uint32 { return 1 },
	})
	for key := range uint64(1000) {
		r.Set(key, 1, 1)
		p.Set(key, 1)
	}
	r.Wait()
	n := 0
	r.IterValues(func(int) bool { n++; return false })
	want(t, "ristretto: entries of cost 1 within 1000", n, 1000/57)
	want(t, "ours: entries of weight 1 within 1000", p.Len(), 1000)
}

// OnExit is called for keys that are not there, with a zero value.
func TestRistrettoOnExit(t *testing.T) {
	calls := 0
	r := must(ristretto.NewCache(&ristretto.Config[string, int]{
		NumCounters: 1000, MaxCost: 1000, BufferItems: 64,
		OnExit: func(int) { calls++ },
	}))
	r.Del("no such key")
	r.Close()
	want(t, "ristretto: calls for a key that was not there", calls, 2)

	calls = 0
	p := pinwheel(t, cache.Options[string, int]{
		OnRemove: func(cache.Event[string, int]) { calls++ },
	})
	p.Del("no such key")
	p.Close(t.Context())
	want(t, "ours: calls for a key that was not there", calls, 0)
}

// ristretto rejects a key that is requested less often than those it would have to evict.
// Ours stores every key.
func TestRistrettoAdmission(t *testing.T) {
	r := must(ristretto.NewCache(&ristretto.Config[uint64, int]{
		NumCounters: 1000, MaxCost: 2, IgnoreInternalCost: true, Metrics: true,
		BufferItems: 1, // with more, the race detector's sync.Pool loses nearly all reads
	}))
	defer r.Close()
	for key := range uint64(2) {
		r.Set(key, 1, 1)
	}
	r.Wait()
	// Some reads are not counted.
	next := uint64(2)
	for r.Metrics.SetsRejected() == 0 {
		for range 1000 {
			r.Get(0)
			r.Get(1)
		}
		next++
		r.Set(next, 1, 1)
		r.Wait()
	}
	want(t, "ristretto: the key that was rejected is there", has(r.Get(next)), false)

	p := pinwheel(t, cache.Options[uint64, int]{Limit: 2})
	for key := range uint64(2) {
		p.Set(key, 1)
		for range 1000 {
			p.Get(key)
		}
	}
	p.Set(2, 1)
	want(t, "ours: a new key among hot ones is there", has(p.Get(2)), true)
}

// Clear resets the statistics there. Ours count since the cache was made.
func TestRistrettoClearsStatistics(t *testing.T) {
	r := must(ristretto.NewCache(&ristretto.Config[string, int]{
		NumCounters: 1000, MaxCost: 1000, BufferItems: 64, Metrics: true,
	}))
	defer r.Close()
	p := pinwheel(t, cache.Options[string, int]{})
	r.Get("k")
	p.Get("k")
	r.Clear()
	p.Clear()
	want(t, "ristretto: misses after Clear", r.Metrics.Misses(), 0)
	want(t, "ours: misses after Clear", p.Stats().Misses, 1)
}
