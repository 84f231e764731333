package near_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"pgregory.net/rapid"
)

// A ledger is a database, in the time of a bubble, that writes a change to its log first, lets
// it be read later, and acknowledges it last. It is the source of its changes, too.
type ledger struct {
	early  bool // tells of a change when it is in the log
	missed bool // leaves out most changes
	slow   int  // the longest step, in ms

	mu       sync.Mutex
	random   *rand.Rand
	visible  [modelKeys]int         // the version that a read finds
	acked    [modelKeys][]time.Time // by version; zero if it is not acknowledged
	watchers []chan<- func(near.Watcher)
}

func newLedger(seed uint64, slow int) *ledger {
	l := &ledger{random: rand.New(rand.NewPCG(seed, 1)), slow: slow}
	for key := range l.acked {
		l.acked[key] = []time.Time{time.Now()}
	}
	return l
}

func (l *ledger) below(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n)
}

// step takes a while.
func (l *ledger) step() { time.Sleep(time.Duration(l.below(1000*l.slow)+1) * time.Microsecond) }

// write makes the next version of a key. A key has one writer at a time.
func (l *ledger) write(key int) {
	l.mu.Lock()
	number := len(l.acked[key])
	l.acked[key] = append(l.acked[key], time.Time{})
	if l.early {
		l.tell(key)
	}
	l.mu.Unlock()
	l.step()
	l.mu.Lock()
	l.visible[key] = number
	if !l.early {
		l.tell(key)
	}
	l.mu.Unlock()
	l.step()
	l.mu.Lock()
	l.acked[key][number] = time.Now()
	l.mu.Unlock()
}

// tell tells all watchers. The lock must be held.
func (l *ledger) tell(key int) {
	if !l.missed || l.random.IntN(100) >= 85 {
		l.send(func(w near.Watcher) { w.Changed(string(rune('a' + key))) })
	}
}

func (l *ledger) send(message func(near.Watcher)) {
	for _, to := range l.watchers {
		to <- message
	}
}

// Watch passes on what is told, in order, and vouches for the moments of its questions.
func (l *ledger) Watch(ctx context.Context, w near.Watcher) {
	messages := make(chan func(near.Watcher), 10_000)
	l.mu.Lock()
	l.watchers = append(l.watchers, messages)
	l.mu.Unlock()
	w.ChangedAll()
	ask := time.NewTicker(near.MaxLag(w) / 4)
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-messages:
			l.step()
			message(w)
		case asked := <-ask.C:
			messages <- func(w near.Watcher) { w.Current(asked) }
		}
	}
}

// read returns the version of a key that can be read at some moment of the call.
func (l *ledger) read(key int) int {
	l.step()
	l.mu.Lock()
	number := l.visible[key]
	l.mu.Unlock()
	l.step()
	return number
}

// stale reports whether a read that began at a moment should not have found a version.
func (l *ledger) stale(key, number int, began time.Time, maxLag time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, acked := range l.acked[key][number+1:] {
		if !acked.IsZero() && acked.Before(began.Add(-maxLag)) {
			return true
		}
	}
	return false
}

// run has Locals over the ledger read while it is written. It returns how many reads there
// were, and how many of them were stale.
func (l *ledger) run(t *testing.T, maxLag time.Duration) (reads, stale, hits int) {
	t.Helper()
	var readers, writers sync.WaitGroup
	var mu sync.Mutex
	for range modelInstances {
		local, err := near.NewLocal(l, near.LocalOptions[string, int]{MaxLag: maxLag})
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			for range 40 * modelSteps {
				key, began := l.below(modelKeys), time.Now()
				got, err := local.Take(t.Context(), string(rune('a'+key)), func(context.Context, *cache.Load[int]) (int, error) {
					return l.read(key), nil
				})
				mu.Lock()
				if reads++; err != nil || l.stale(key, got, began, maxLag) {
					stale++
				}
				mu.Unlock()
				if l.below(4) == 0 {
					l.step()
				}
			}
			mu.Lock()
			hits += int(local.Stats().Hits)
			mu.Unlock()
			if err := local.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	for key := range modelKeys {
		writers.Go(func() {
			for ctx.Err() == nil {
				l.write(key)
				time.Sleep(time.Duration(l.below(4*int(maxLag)) + 1))
			}
		})
	}
	readers.Wait()
	stop()
	writers.Wait()
	return reads, stale, hits
}

// TestLocalModel has Locals read a database that lets a change be read some time after it is
// in its log.
//
// Catches: a Local that keeps what a load has read before a change that was told.
func TestLocalModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed, slow := rapid.Uint64().Draw(r, "seed"), rapid.SampledFrom([]int{1, 10}).Draw(r, "slow")
		synctest.Test(t, func(t *testing.T) {
			if reads, stale, hits := newLedger(seed, slow).run(t, 100*time.Millisecond); stale > 0 || hits < reads/4 {
				r.Fatalf("of %d reads %d are from memory, and %d are stale", reads, hits, stale)
			}
		})
	})
}

// TestLocalModelNotices runs the model with a source that tells of a change before it can be
// read, and with one that leaves out 85 of 100 changes: it must find stale reads.
func TestLocalModelNotices(t *testing.T) {
	for name, l := range map[string]func(*ledger){
		"early":  func(l *ledger) { l.early = true },
		"missed": func(l *ledger) { l.missed = true },
	} {
		reads, stale := 0, 0
		for seed := uint64(1); seed <= 20 && stale == 0; seed++ { // a run can be lucky
			synctest.Test(t, func(t *testing.T) {
				ledger := newLedger(seed, 10)
				l(ledger)
				reads, stale, _ = ledger.run(t, 100*time.Millisecond)
			})
		}
		t.Logf("%s: %d of %d reads are stale", name, stale, reads)
		if stale == 0 {
			t.Errorf("%s: none of %d reads is stale, in 20 runs", name, reads)
		}
	}
}
