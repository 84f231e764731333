package stats_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A hammered cache counts under a lock, so that each Snapshot is of one moment.
type hammered struct {
	mu sync.Mutex
	s  stats.Snapshot
}

func (c *hammered) source() (stats.Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s, true
}

// hammer counts until stop is closed.
func (c *hammered) hammer(stop <-chan struct{}, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(r.IntN(400)) * time.Millisecond):
		}
		for range r.IntN(100) {
			c.mu.Lock()
			switch r.IntN(4) {
			case 0, 1:
				c.s.Hits++
			case 2:
				c.s.Misses++
				switch r.IntN(3) {
				case 0:
					c.s.MissesExpired++
				case 1:
					c.s.MissesEvicted++
				}
			case 3:
				c.s.Sets++
				c.s.Entries++
			}
			c.mu.Unlock()
		}
	}
}

// The numbers of one answer are consistent, also while they change.
func TestAnAnswerIsConsistent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		var c hammered
		r.Register("users", c.source)
		h := r.Handler()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for seed := range uint64(4) {
			wg.Go(func() { c.hammer(stop, seed) })
		}
		for i := range 200 {
			time.Sleep(time.Duration(i%7) * 700 * time.Millisecond)
			checkConsistent(t, h)
		}
		close(stop)
		wg.Wait()
		time.Sleep(time.Second)
		checkConsistent(t, h)
	})
}

func checkConsistent(t *testing.T, h http.Handler) {
	t.Helper()
	document := readJSONOf(t, h, "?points=61").Caches[0]
	of := func(object any, name string) uint64 { return uint64(object.(map[string]any)[name].(float64)) }
	if of(document, "misses") != of(document, "misses_absent")+of(document, "misses_expired")+of(document, "misses_evicted") {
		t.Errorf("misses do not add up in %v", document)
	}
	windows := document["windows"].(map[string]any)
	one, five := windows["1m"], windows["5m"]
	for _, w := range []any{one, five} {
		if of(w, "gets") != of(w, "hits")+of(w, "misses") {
			t.Errorf("gets do not add up in %v", w)
		}
	}
	history := document["history"].([]any)
	var sum struct{ hits, misses, sets uint64 }
	seconds := 0.0
	for i, p := range history {
		sum.hits += of(p, "hits")
		sum.misses += of(p, "misses_absent") + of(p, "misses_expired") + of(p, "misses_evicted")
		sum.sets += of(p, "sets")
		seconds += p.(map[string]any)["seconds"].(float64)
		if last := i == len(history)-1; p.(map[string]any)["partial"] == true && !last {
			t.Errorf("point %d of %d is partial", i, len(history))
		}
	}
	for name, sum := range map[string]uint64{"hits": sum.hits, "misses": sum.misses, "sets": sum.sets} {
		if o, f, all := of(one, name), of(five, name), of(document, name); o > f || f > all {
			t.Errorf("%s are %d in one minute, %d in five, %d in all", name, o, f, all)
		}
		all := of(document, name)
		if sum > all {
			t.Errorf("%s are %d in history, %d in all", name, sum, all)
		}
		if len(history) == 0 {
			continue
		}
		last := history[len(history)-1].(map[string]any)
		if last["partial"] != true || len(history) > 60 {
			continue // there are counts that are in no point
		}
		if sum != all { // from the first sample, of nothing, to now
			t.Errorf("%s are %d in history, %d in all, want the same", name, sum, all)
		}
	}
}
