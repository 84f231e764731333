package pairs

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

var soakFor = flag.Duration("soak.for", time.Second, "how long TestSoak runs")

const (
	residents = 8 // rounds whose caches stay for the whole soak
	guests    = 8 // those of one phase
)

// TestSoak plays long rounds in real time, many at once, with thousands of keys, and watches what
// shows only over time or from outside:
//
//	go test -C proof -race -v ./pairs -run TestSoak -soak.for 20m -timeout 0
//
// In each phase the program calls other methods. Meanwhile stats.Handler is asked, and limits and
// counters are watched. Between phases no goroutine is left, the counters match what was done, and
// caches that were closed or dropped are collected. After every second phase all caches are
// emptied: then the memory in use must not have grown.
//
// Catches: leaks of goroutines, memory and caches, limits that are passed, counters that fall.
func TestSoak(t *testing.T) {
	seed := firstSeed()
	s := &stage{folder: t.TempDir(), soak: true, late: patience}
	s.seed.Store(seed)
	watchdog := time.AfterFunc(patience, s.hang)
	defer watchdog.Stop()

	var l leaks
	l.begin()
	began, d := time.Now(), diceFor(seed)
	rounds := s.rounds(t, d, residents)
	for _, r := range rounds {
		r.stays = true
	}
	length := min(max(*soakFor/40, 200*ms), 10*time.Second)
	phases := uint64(0)
	for ; !t.Failed() && time.Since(began) < *soakFor; phases++ {
		watchdog.Reset(length + 5*patience)
		all := append(rounds[:residents:residents], s.rounds(t, d.at('p', phases), guests)...)
		for n, r := range all {
			r.methods, r.until = draw(d.at('m', phases, uint64(n))), time.Now().Add(length)
		}
		watch(t, all, int(phases))
		rest(all, phases%2 == 1)
		if err := l.check(false, patience); err != nil { // before caches leave, which some would ask
			t.Fatalf("-pairs.seed %d, phase %d: %v", seed, phases, err)
		}
		leave(t, all[residents:])
		if err := l.check(phases%2 == 1, patience); err != nil {
			t.Errorf("-pairs.seed %d, phase %d: %v", seed, phases, err)
		}
	}
	for _, r := range rounds {
		r.end()
	}
	growth, leaking := grown(l.rests)
	fmt.Printf("%d calls in %d phases, -pairs.seed %d; %s\n", s.calls.Load(), phases, seed, &l)
	if leaking {
		t.Errorf("the heap with all caches empty has grown by %.0f bytes, steadily", growth)
	}
}

// rounds makes rounds of a soak.
func (s *stage) rounds(t *testing.T, d dice, count uint64) (all []*round) {
	for n := range count {
		all = append(all, newRound(s, t, d.at('r', n)))
	}
	return all
}

// enlarge makes the options of a round those of a soak.
func (r *round) enlarge(d dice) {
	o := &r.options
	o.Name, o.Expire, r.more = "soak", one(d, 0, 50*ms, time.Second, 20*time.Second), one(d, 300, 2000, 16_000)
	if o.Limit > 0 {
		o.Limit = one(d, 16, 1000, 12_000)
	}
	if o.MaxWeight > 0 {
		o.MaxWeight = one[uint64](d, 20, 1000, 10_000)
	}
}

// watch has rounds act. Meanwhile it asks stats.Handler, as a monitoring system does, and checks
// limits and counters.
func watch(t *testing.T, rounds []*round, phase int) {
	var all sync.WaitGroup
	for _, r := range rounds {
		all.Go(func() { r.act(phase) })
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	const inJSON = "/cache/stats.json?points=61"
	handler := stats.Handler()
	for {
		for _, path := range []string{"/cache/", "/cache/metrics", inJSON} {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
			if body := answer.Body.Bytes(); answer.Code != http.StatusOK || len(body) == 0 || path == inJSON && !json.Valid(body) {
				t.Errorf("%s: status %d, %s", path, answer.Code, body)
			}
		}
		for _, r := range rounds {
			r.compare()
			r.measure()
		}
		select {
		case <-ended:
			return
		case <-time.After(100 * ms):
		}
	}
}

// rest waits until nothing happens. Functions of the user do nothing meanwhile.
func rest(rounds []*round, empty bool) {
	var all sync.WaitGroup
	for n, r := range rounds {
		all.Go(func() {
			r.over.Store(true)
			r.quieten()
			if empty || n >= residents {
				r.cache.Clear()
				r.quieten()
				r.ledger.told.Clear()
			}
			r.over.Store(false)
		})
	}
	all.Wait()
}

// leave closes half of the caches of rounds, and drops the others, which must be collected.
func leave(t *testing.T, rounds []*round) {
	var dropped atomic.Int64
	for n, r := range rounds {
		r.over.Store(true)
		if n%2 == 0 {
			r.end()
		} else {
			dropped.Add(1)
			runtime.AddCleanup(r.cache, func(dropped *atomic.Int64) { dropped.Add(-1) }, &dropped)
		}
		r.cache = nil // to which its functions have led
	}
	for end := time.Now().Add(patience); dropped.Load() > 0 || len(stats.Caches()) > residents; time.Sleep(ms) {
		if runtime.GC(); time.Now().After(end) {
			t.Errorf("%d caches that nobody holds have not been collected, and %d are registered", dropped.Load(), len(stats.Caches()))
			return
		}
	}
}

// Catches: a check for leaks that sees nothing.
func TestLeaksAreSeen(t *testing.T) {
	held := make(chan struct{})
	defer close(held)
	var kept []byte
	for name, leak := range map[string]func(){
		"a goroutine": func() { go func() { <-held }() },
		"memory":      func() { kept = make([]byte, 64<<20) },
	} {
		var l leaks
		l.begin()
		if err := l.check(true, patience); err != nil {
			t.Fatal(err)
		}
		leak()
		if l.check(true, 100*ms) == nil {
			t.Errorf("%s has leaked, which nobody has seen", name)
		}
	}
	runtime.KeepAlive(kept)
}
