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

// The numbers of one answer are consistent, also while they change.
func TestAnAnswerIsConsistent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		var mu sync.Mutex // each Snapshot is of one moment
		var s stats.Snapshot
		r.Register("users", func() (stats.Snapshot, bool) {
			mu.Lock()
			defer mu.Unlock()
			return s, true
		})
		h := r.Handler()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for seed := range uint64(4) {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(seed, 1))
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Duration(random.IntN(400)) * time.Millisecond):
					}
					for range random.IntN(100) {
						mu.Lock()
						count(&s, random.IntN(6))
						mu.Unlock()
					}
				}
			})
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

// count counts one of six events.
func count(s *stats.Snapshot, event int) {
	switch event {
	case 0, 1:
		s.Hits++
	case 2:
		s.Sets++
		s.Entries++
	case 3:
		s.MissesExpired++
		s.Misses++
	case 4:
		s.MissesEvicted++
		s.Misses++
	case 5:
		s.Misses++
	}
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
	for i, p := range history {
		sum.hits += of(p, "hits")
		sum.misses += of(p, "misses_absent") + of(p, "misses_expired") + of(p, "misses_evicted")
		sum.sets += of(p, "sets")
		if last := i == len(history)-1; p.(map[string]any)["partial"] == true && !last {
			t.Errorf("point %d of %d is partial", i, len(history))
		}
	}
	for name, sum := range map[string]uint64{"hits": sum.hits, "misses": sum.misses, "sets": sum.sets} {
		all := of(document, name)
		if o, f := of(one, name), of(five, name); o > f || f > all || sum > all {
			t.Errorf("%s are %d in one minute, %d in five, %d in history, %d in all", name, o, f, sum, all)
		}
		// The points, from the first sample, of nothing, to now, have all; unless there are more than
		// 60, or the last second is in none.
		if n := len(history); n > 0 && n <= 60 && history[n-1].(map[string]any)["partial"] == true && sum != all {
			t.Errorf("%s are %d in history, %d in all, want the same", name, sum, all)
		}
	}
}
