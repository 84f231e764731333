package stats

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// A patient is a cache in a service with a hundred requests a second.
type patient struct {
	*cache.Cache[int, int]
	t    *testing.T
	next atomic.Int64 // the number of new keys so far

	mu    sync.Mutex // guards what follows
	draws *rand.Rand
	zipf  *rand.Zipf
}

func newPatient(t *testing.T, o cache.Options[int, int]) *patient {
	o.Name = "patient"
	c := cache.Must(o)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	draws := rand.New(rand.NewPCG(1, 2)) // the same in each run, as some findings are near their bounds
	return &patient{Cache: c, t: t, draws: draws, zipf: rand.NewZipf(draws, 1.1, 20, 1_000)}
}

// key returns one of a thousand keys, some far more often than others.
func (p *patient) key() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.zipf.Uint64())
}

// newKey returns a key that was never used.
func (p *patient) newKey() int { return 1_000_000 + int(p.next.Add(1)) }

// serve makes requests for a while, each in its own goroutine.
func (p *patient) serve(d time.Duration, request func()) {
	for range d / (10 * time.Millisecond) {
		go request()
		time.Sleep(10 * time.Millisecond)
	}
	synctest.Wait()
}

// take calls Take with a database that answers after some time.
func (p *patient) take(key int, takes time.Duration, err error) {
	_, _ = p.Take(key, func() (int, error) { time.Sleep(takes); return key, err })
}

// usual is a request for a key that the method key chose.
func (p *patient) usual() { p.take(p.key(), time.Millisecond, nil) }

// among returns a request for one of n keys, all equally likely.
func (p *patient) among(n int) func() {
	return func() {
		p.mu.Lock()
		key := p.draws.IntN(n)
		p.mu.Unlock()
		p.take(key, time.Millisecond, nil)
	}
}

// findings returns the causes and the words of the page.
func (p *patient) findings() (causes, words string) {
	text := served(p.t, "/stats.json?cache=patient")
	var answer struct {
		Caches []struct {
			Findings []struct{ Cause, Words string }
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Caches) != 1 {
		p.t.Fatalf("%v in %s", err, text)
	}
	var all, said []string
	for _, f := range answer.Caches[0].Findings {
		all, said = append(all, f.Cause), append(said, f.Words)
	}
	return strings.Join(all, ", "), strings.Join(said, " ")
}

// TestCausesAreNamed checks that the page alone names each of these causes within two minutes.
func TestCausesAreNamed(t *testing.T) {
	limited := cache.Options[int, int]{Limit: 1_000, Expire: time.Hour, HotKeys: 5}
	inGuide := causesOfTheGuide(t)
	for _, test := range []struct {
		name    string
		options cache.Options[int, int]
		run     func(p *patient)
		cause   string // every cause that the page names
		words   string // some of the page's words
	}{
		{"healthy", limited, func(p *patient) { p.serve(10*time.Minute, p.usual) }, "", ""},
		{"limit too small", limited, func(p *patient) { p.serve(10*time.Minute, p.among(1_500)) },
			"limit too small", "of the gets miss, mostly because the limit is too small: "},
		{"TTL too short", cache.Options[int, int]{Expire: 5 * time.Second}, func(p *patient) { p.serve(10*time.Minute, p.among(1_000)) },
			"TTL too short", "are of keys that expired recently, with a TTL of 5 s"},
		{"scan", limited, func(p *patient) {
			p.serve(10*time.Minute, p.usual)
			p.serve(time.Minute, func() { p.usual(); p.take(p.newKey(), time.Millisecond, nil) })
		}, "keys asked for once", "Misses rose from "},
		{"key set grown", limited, func(p *patient) {
			p.serve(10*time.Minute, p.among(900))
			p.serve(2*time.Minute, p.among(2_500))
		}, "more keys", "because more keys are asked for than before, and do not fit: "},
		{"Clear", limited, func(p *patient) {
			p.serve(10*time.Minute, p.among(900))
			p.Clear()
			p.serve(16*time.Second, p.among(900))
		}, "cleared", "because the cache was cleared "},
		{"deploy", limited, func(p *patient) { p.serve(10*time.Second, p.among(900)) },
			"new", "the cache is new and filling: it was made 10 s ago"},
		{"database slow", cache.Options[int, int]{Limit: 1_000, Expire: 4 * time.Minute}, func(p *patient) {
			p.serve(10*time.Minute, p.usual)
			p.serve(time.Minute, func() { p.take(p.key(), 300*time.Millisecond, nil) })
		}, "loads slow", "Loads are slow: they took "},
		{"database down", cache.Options[int, int]{Limit: 1_000, Expire: time.Minute}, func(p *patient) {
			p.serve(10*time.Minute, p.usual)
			p.serve(2*time.Minute, func() { p.take(p.key(), time.Millisecond, errors.New("refused")) })
		}, "loads fail", "Loads fail: 100 % of the loads in the last minute."},
		{"database down, with Grace", cache.Options[int, int]{Limit: 1_000, Expire: time.Minute, Grace: time.Hour}, func(p *patient) {
			p.serve(10*time.Minute, p.usual)
			p.serve(2*time.Minute, func() { p.take(p.key(), time.Millisecond, errors.New("refused")) })
		}, "loads fail", "Values past their deadline answer "},
		{"database hangs", cache.Options[int, int]{Limit: 1_000, Expire: time.Minute}, func(p *patient) {
			p.serve(10*time.Minute, p.usual)
			answer := make(chan struct{})
			p.t.Cleanup(func() { close(answer) })
			p.serve(2*time.Minute, func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second) // fake time
				defer cancel()
				_, _ = p.TakeCtx(ctx, p.key(), func(context.Context) (int, error) { <-answer; return 1, nil })
			})
		}, "loads hang", "Loads hang: "},
		{"callbacks hang", cache.Options[int, int]{Limit: 1_000, Workers: 1, OnRemove: func(cache.Event[int, int]) { time.Sleep(time.Hour) }}, func(p *patient) {
			p.serve(5*time.Minute, p.usual)
			p.Del(1)
			p.serve(2*time.Minute, p.usual)
		}, "callbacks hang", "A call of OnRemove has run for "},
		{"one hot key", limited, func(p *patient) {
			p.serve(10*time.Minute, p.usual)
			p.serve(25*time.Second, func() {
				if rand.IntN(10) < 7 {
					p.take(1, time.Millisecond, nil)
				} else {
					p.usual()
				}
			})
		}, "one hot key", "One key has at least "},
		{"memory grows", cache.Options[int, int]{}, grow, "grows without limit", "The cache has no limit and grows: "},
		{"weights near zero", cache.Options[int, int]{MaxWeight: 1 << 20, Weigh: func(int, int) uint32 { return 0 }}, grow,
			"grows without limit", "The cache grows, and its entries weigh 1.0 on average: "},
		{"entries are counted", cache.Options[int, int]{MaxWeight: 1<<20 - 1, Weigh: func(int, int) uint32 { return 1 }}, grow, "", ""},
		{"bytes are weighed", cache.Options[int, int]{MaxWeight: 1 << 20, Weigh: func(int, int) uint32 { return 8 }}, grow, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if cause, ok := inGuide[test.name]; ok && cause != test.cause {
				t.Errorf("by docs/monitoring.md the page says %q, want %q", cause, test.cause)
			}
			delete(inGuide, test.name)
			synctest.Test(t, func(t *testing.T) {
				p := newPatient(t, test.options)
				p.findings() // somebody had the page open before
				test.run(p)
				causes, words := p.findings()
				if causes != test.cause || !strings.Contains(words, test.words) {
					t.Errorf("the page says %q: %s\nwant %q: %s", causes, words, test.cause, test.words)
				}
			})
		})
	}
	for name := range inGuide {
		t.Errorf("docs/monitoring.md has the cause %q, which is not tried here", name)
	}
}

// grow stores new keys.
func grow(p *patient) {
	p.serve(15*time.Minute, func() {
		p.usual()
		if rand.IntN(20) == 0 {
			p.Set(p.newKey(), 1)
		}
	})
}

// causesOfTheGuide returns what the page says of each cause, by the table in
// docs/monitoring.md.
func causesOfTheGuide(t *testing.T) map[string]string {
	t.Helper()
	guide, err := os.ReadFile("../../docs/monitoring.md")
	settle.Must(t, err)
	_, table, _ := strings.Cut(string(guide), "\n| Cause |")
	table, _, _ = strings.Cut(table, "\n\n")
	says := make(map[string]string)
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, " | ")
		says[strings.TrimPrefix(cells[0], "| ")] = cells[1]
	}
	return says
}
