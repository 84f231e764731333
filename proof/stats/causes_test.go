package stats

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A patient is a cache in a service with a hundred requests a second.
type patient struct {
	*cache.Cache[int, int] // nil if there is a fake
	fake                   *fake
	t                      *testing.T
	next                   atomic.Int64 // the number of new keys so far

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

// A seen is a finding as the page gets it.
type seen struct {
	Cause, Words, Level string
	Since               float64 `json:"since_seconds"`
	Ended               float64 `json:"ended_seconds"`
}

// findings returns what the page says.
func (p *patient) findings() []seen {
	text := served(p.t, "/stats.json?cache=patient")
	var answer struct{ Caches []struct{ Findings []seen } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Caches) != 1 {
		p.t.Fatalf("%v in %s", err, text)
	}
	return answer.Caches[0].Findings
}

// A fake is a source with statistics made by hand. It stands in for a patient's cache.
type fake struct {
	mu sync.Mutex // guards what follows
	stats.Snapshot
	sources.Operation
	loads   [3]histogram.DurationRecorder // by kind
	permits histogram.DurationRecorder
	bad     []sources.BadKey
}

// The kinds of loads of a fake.
const (
	brings = iota
	fails
	timesOut
)

func newFake(t *testing.T, settings sources.Settings) *patient {
	f := &fake{Snapshot: stats.Snapshot{Limit: 1_000, Entries: 1_000}}
	register(t, sources.Cache[stats.Snapshot]{Name: "patient", Settings: settings,
		Snapshot: func() (stats.Snapshot, bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			s := f.Snapshot
			s.Loads.OK, s.Loads.Failed, s.Loads.TimedOut = stats.Histogram(f.loads[brings].Histogram()), stats.Histogram(f.loads[fails].Histogram()), stats.Histogram(f.loads[timesOut].Histogram())
			return s, true
		},
		Operation: func() sources.Operation {
			f.mu.Lock()
			defer f.mu.Unlock()
			o := f.Operation
			o.Permits = f.permits.Histogram()
			return o
		},
		FailingKeys: func() []sources.BadKey { return f.bad },
		SlowKeys:    func() []sources.BadKey { return f.bad },
	})
	return &patient{t: t, fake: f, draws: rand.New(rand.NewPCG(1, 2))}
}

// request returns a request of a fake: nine of ten gets hit; of the others each loads, as load does.
func (p *patient) request(load func(f *fake)) func() {
	return func() {
		p.fake.mu.Lock()
		defer p.fake.mu.Unlock()
		if p.draws.IntN(10) > 0 {
			p.fake.Hits++
			return
		}
		p.fake.Misses++
		load(p.fake)
	}
}

func (f *fake) load(kind int, took time.Duration) { f.loads[kind].Observe(took) }

// works is a load of a fake.
func works(f *fake) { f.load(brings, 5*time.Millisecond) }

// An illness is something wrong with a patient.
type illness struct {
	name    string
	options cache.Options[int, int]
	fake    func(f *fake) sources.Settings // what the fake has at first; nil: the patient is a cache

	healthy func(p *patient) func() // the requests for ten minutes before, and afterwards; nil: it was always ill
	begin   func(p *patient)        // may be nil
	ill     func(p *patient) func()
	lasts   time.Duration
	end     func(p *patient) // may be nil

	cause, level string
	words        string        // some of the page's words
	first        string        // a cause that the page may name before
	within, over time.Duration // until it is named; after its end until that is said
}

// TestCausesAreNamed checks that the page alone names each of these causes in the time given, says nothing
// else, and that it has ended, once.
func TestCausesAreNamed(t *testing.T) {
	limited := cache.Options[int, int]{Limit: 1_000, Expire: time.Hour, HotKeys: 5}
	short := cache.Options[int, int]{Limit: 1_000, Expire: 3 * time.Minute}
	usual := func(p *patient) func() { return p.usual }
	among := func(n int) func(p *patient) func() { return func(p *patient) func() { return p.among(n) } }
	takes := func(d time.Duration, err error) func(p *patient) func() {
		return func(p *patient) func() { return func() { p.take(p.key(), d, err) } }
	}
	loads := func(load func(f *fake)) func(p *patient) func() {
		return func(p *patient) func() { return p.request(load) }
	}
	plain := func(*fake) sources.Settings { return sources.Settings{Timeout: 2 * time.Second, MaxLoads: 10} }
	vouched := func(f *fake) sources.Settings {
		f.Near = stats.Near{MaxLag: time.Second, Serving: true, Behind: time.Second / 3}
		return plain(f)
	}
	refused := errors.New("refused")
	inGuide, tried := causesOfTheGuide(t), map[string]bool{}
	for _, i := range []illness{
		{name: "healthy", options: limited, healthy: usual, ill: usual, lasts: time.Hour},
		{name: "limit too small", options: limited, ill: among(1_500), lasts: 10 * time.Minute,
			cause: "limit too small", level: "advice", words: "of the gets miss in a minute, mostly because the limit is too small: ", within: 2 * time.Minute},
		{name: "TTL too short", options: cache.Options[int, int]{Expire: 5 * time.Second}, ill: among(1_000), lasts: 10 * time.Minute,
			cause: "TTL too short", level: "advice", words: "misses are of keys that were there recently, and expired, with a TTL or Idle of 5 s", within: time.Minute},
		{name: "scan", options: limited, healthy: usual, ill: func(p *patient) func() {
			return func() { p.usual(); p.take(p.newKey(), time.Millisecond, nil) }
		}, lasts: 2 * time.Minute, cause: "keys asked for once", level: "warning", words: "as by a scan, or far more than fit: ", within: 12 * time.Second, over: 75 * time.Second},
		{name: "scan, with WhatIf", options: cache.Options[int, int]{Limit: 1_000, WhatIf: true}, healthy: usual, ill: func(p *patient) func() {
			return func() { p.usual(); p.take(p.newKey(), time.Millisecond, nil) }
		}, lasts: 2 * time.Minute, cause: "keys asked for once", level: "warning", words: "as by a scan: ", within: 12 * time.Second, over: 75 * time.Second},
		{name: "key set grown", options: limited, healthy: among(900), ill: among(2_500), lasts: 10 * time.Minute,
			first: "keys asked for once", cause: "more keys", level: "warning", words: "because more keys are asked for than before, and do not fit", within: 30 * time.Second, over: 75 * time.Second},
		{name: "key set grown, with WhatIf", options: cache.Options[int, int]{Limit: 1_000, WhatIf: true}, healthy: among(900), ill: among(1_900), lasts: 10 * time.Minute,
			first: "keys asked for once", cause: "more keys", level: "warning", words: "and with double the limit ", within: 15 * time.Second, over: 75 * time.Second},
		{name: "Clear", options: limited, healthy: among(900), begin: func(p *patient) { p.Clear() }, ill: among(900), lasts: 8 * time.Second,
			cause: "cleared", level: "warning", words: "because the cache was cleared ", within: 5 * time.Second, over: 75 * time.Second},
		{name: "limit lowered", options: limited, healthy: among(900), begin: func(p *patient) { p.Resize(20) }, ill: among(900), lasts: 5 * time.Minute, end: func(p *patient) { p.Resize(1_000) },
			cause: "limit lowered", level: "warning", words: "because the limit was lowered from 1000 to 20, ", within: 10 * time.Second, over: 20 * time.Second},
		{name: "deploy", options: limited, ill: among(900), lasts: 15 * time.Second,
			cause: "new", level: "advice", words: "the cache is new and filling: it was made ", within: 10 * time.Second},
		{name: "database slow", options: cache.Options[int, int]{Limit: 1_000, Expire: 4 * time.Minute}, healthy: usual, ill: takes(300*time.Millisecond, nil), lasts: time.Hour,
			cause: "loads slow", level: "warning", words: "usually 1 ms", within: 10 * time.Second, over: 17 * time.Second},
		{name: "database slow since before the start", options: short, ill: takes(2*time.Second, nil), lasts: 20 * time.Minute,
			first: "TTL too short", cause: "loads slow", level: "critical", words: "what is usual is not known", within: 10 * time.Second},
		{name: "database down", options: short, healthy: usual, ill: takes(time.Millisecond, refused), lasts: 2 * time.Minute,
			cause: "loads fail", level: "critical", words: " in the last 10 s, ", within: 6 * time.Second, over: 17 * time.Second},
		{name: "database down, with Grace", options: cache.Options[int, int]{Limit: 1_000, Expire: 3 * time.Minute, Grace: time.Hour}, healthy: usual, ill: takes(time.Millisecond, refused), lasts: 2 * time.Minute,
			cause: "loads fail", level: "warning", words: "In a minute values past their deadline (Grace) answered ", within: 6 * time.Second, over: 17 * time.Second},
		{name: "one load in ten fails", fake: plain, healthy: loads(works), ill: func(p *patient) func() {
			return p.request(func(f *fake) {
				kind := brings
				if p.draws.IntN(10) == 0 {
					kind = fails
				}
				f.load(kind, 5*time.Millisecond)
			})
		}, lasts: 30 * time.Minute, cause: "loads fail", level: "warning", words: "Loads fail: ", within: time.Minute, over: 75 * time.Second},
		{name: "database hangs", options: short, healthy: usual, ill: func(p *patient) func() {
			return func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second) // fake time
				defer cancel()
				_, _ = p.TakeCtx(ctx, p.key(), func(context.Context) (int, error) { time.Sleep(3 * time.Minute); return 1, nil })
			}
		}, lasts: 2 * time.Minute, cause: "loads hang", level: "critical", words: "Loads hang: ", within: 12 * time.Second},
		{name: "several loads hang", fake: plain, healthy: loads(works), ill: func(p *patient) func() {
			began := time.Now()
			return func() {
				p.fake.mu.Lock()
				defer p.fake.mu.Unlock()
				p.fake.Loads.Running, p.fake.Loads.Oldest = 3, time.Since(began)
				bad := sources.BadKey{Hash: 0xab, Running: true, Since: began}
				p.fake.bad = []sources.BadKey{bad}
			}
		}, lasts: time.Minute, end: func(p *patient) { p.fake.Loads.Running, p.fake.Loads.Oldest = 0, 0 },
			cause: "loads hang", level: "critical", words: " (the key with hash 00000000000000ab, for ", within: 8 * time.Second, over: 6 * time.Second},
		{name: "database hangs, with Timeout", options: cache.Options[int, int]{Limit: 1_000, Expire: 3 * time.Minute, Timeout: 2 * time.Second}, healthy: usual, ill: func(p *patient) func() {
			return func() {
				_, _ = p.TakeCtx(context.Background(), p.key(), func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			}
		}, lasts: 5 * time.Minute, cause: "loads time out", level: "critical", words: "does not answer within Timeout (2 s): it hangs, or is too slow. ", within: 8 * time.Second, over: 19 * time.Second},
		{name: "one key fails", options: short, healthy: usual, ill: func(p *patient) func() {
			return func() {
				if p.key()%20 == 7 {
					p.take(5_000, time.Millisecond, refused)
				} else {
					p.usual()
				}
			}
		}, lasts: 5 * time.Minute, cause: "one key fails", level: "warning", words: " times in a row (the key with hash ", within: 8 * time.Second, over: 75 * time.Second},
		{name: "MaxLoads too low", fake: plain, healthy: loads(works), ill: loads(func(f *fake) { works(f); f.permits.Observe(3 * time.Second); f.Loads.Queued = 30 }), lasts: 5 * time.Minute,
			cause: "waiting for a place", level: "critical", words: "30 wait now. MaxLoads is 10", within: 6 * time.Second, over: 17 * time.Second},
		{name: "bots", fake: plain, healthy: loads(works), ill: func(p *patient) func() {
			return func() {
				p.request(works)()
				p.request(works)()
				p.fake.mu.Lock()
				defer p.fake.mu.Unlock()
				works(p.fake)
				p.fake.Misses++
				p.fake.NotFound++
			}
		}, lasts: 5 * time.Minute, cause: "unknown keys", level: "warning", words: "keys are asked for that do not exist, as by bots: ", within: 12 * time.Second, over: 17 * time.Second},
		{name: "the store evicts", fake: vouched, healthy: loads(works), ill: func(p *patient) func() {
			return func() {
				p.fake.mu.Lock()
				defer p.fake.mu.Unlock()
				works(p.fake)
				p.fake.Misses++
				p.fake.Removals.Deleted++
				p.fake.Near.Changes++
			}
		}, lasts: 5 * time.Minute, cause: "changed at the source", level: "warning", words: "the source reports ", within: 12 * time.Second, over: 17 * time.Second},
		{name: "callbacks hang", options: cache.Options[int, int]{Limit: 2_000, Workers: 1, OnRemove: func(cache.Event[int, int]) { time.Sleep(3 * time.Minute) }}, healthy: usual,
			begin: func(p *patient) { p.Del(1) }, ill: usual, lasts: 2 * time.Minute, end: func(p *patient) { p.serve(61*time.Second, p.usual) },
			cause: "callbacks hang", level: "warning", words: "OnRemove is too slow: a call has run for ", within: 66 * time.Second, over: 6 * time.Second},
		{name: "OnRemove is slow", fake: plain, healthy: loads(works), begin: func(p *patient) { p.fake.Callbacks.Queued, p.fake.Callbacks.Oldest = 500, time.Second }, ill: loads(works), lasts: time.Minute,
			end: func(p *patient) { p.fake.Callbacks.Queued = 0 }, cause: "callbacks hang", level: "warning", words: "a call has run for 1 s, 500 calls wait", within: 20 * time.Second, over: 6 * time.Second},
		{name: "callbacks after a Clear", fake: plain, healthy: loads(works), begin: func(p *patient) { p.fake.Callbacks.Queued = 10_000 },
			ill: loads(func(f *fake) { works(f); f.Callbacks.Queued = f.Callbacks.Queued * 99 / 100 }), lasts: 2 * time.Minute},
		{name: "callers wait for callbacks", fake: plain, healthy: loads(works), begin: func(p *patient) { p.fake.Blocked = 12 }, ill: loads(works), lasts: time.Minute, end: func(p *patient) { p.fake.Blocked = 0 },
			cause: "callbacks hang", level: "critical", words: "and 12 callers of the cache wait for them.", within: 10 * time.Second, over: 6 * time.Second},
		{name: "a Del fails", fake: plain, healthy: loads(works), begin: func(p *patient) { p.fake.Undone = 3 }, ill: loads(works), lasts: time.Minute, end: func(p *patient) { p.fake.Undone = 0 },
			cause: "Del fails", level: "warning", words: "it is repeated for 3 keys", within: 10 * time.Second, over: 6 * time.Second},
		{name: "source slow", fake: vouched, healthy: loads(works), begin: func(p *patient) { p.fake.Near.Behind = 850 * time.Millisecond }, ill: loads(works), lasts: time.Minute,
			end: func(p *patient) { p.fake.Near.Behind = time.Second / 3 }, cause: "source slow", level: "warning", words: "confirms what is 850 ms old, close to MaxLag, 1 s: set it to 2 s", within: time.Second, over: 6 * time.Second},
		{name: "source partial", fake: vouched, healthy: loads(works), begin: func(p *patient) { p.fake.Near.Partial = true }, ill: loads(works), lasts: time.Minute,
			end: func(p *patient) { p.fake.Near.Partial = false }, cause: "source partial", level: "advice", words: "reports some changes late or not at all", within: time.Second, over: 6 * time.Second},
		{name: "values undecodable", fake: vouched, healthy: loads(works), ill: loads(func(f *fake) { works(f); f.Near.Undecodable++ }), lasts: 5 * time.Minute,
			cause: "values undecodable", level: "warning", words: " values of the store could not be decoded: ", within: 5 * time.Second, over: 16 * time.Second},
		{name: "the source leaves out changes", fake: vouched, healthy: loads(works), ill: loads(func(f *fake) { works(f); f.Near.Audits.Violations++ }), lasts: 5 * time.Minute,
			cause: "serves what was replaced", level: "critical", words: "Memory served what had been replaced", within: 5 * time.Second, over: 80 * time.Second},
		{name: "one hot key", options: limited, healthy: usual, ill: func(p *patient) func() {
			return func() {
				if rand.IntN(10) < 7 {
					p.take(1, time.Millisecond, nil)
				} else {
					p.usual()
				}
			}
		}, lasts: 5 * time.Minute, cause: "one hot key", level: "advice", words: "One key has at least ", within: 25 * time.Second, over: 2 * time.Minute},
		{name: "a hot key that is accepted", fake: func(f *fake) sources.Settings {
			return sources.Settings{Accept: []string{"one hot key"}}
		}, begin: func(p *patient) { p.fake.HottestShare = 0.5 }, ill: loads(works), lasts: time.Minute,
			cause: "one hot key", level: "advice", words: "As intended: One key has at least 50 %", within: time.Second},
		{name: "memory grows", options: cache.Options[int, int]{}, ill: grow, lasts: 15 * time.Minute,
			cause: "grows without limit", level: "warning", words: "The cache has no limit and grows: ", within: 12 * time.Minute},
		{name: "weights near zero", options: cache.Options[int, int]{MaxWeight: 1 << 20, Weigh: func(int, int) uint32 { return 0 }}, ill: grow, lasts: 15 * time.Minute,
			cause: "grows without limit", level: "warning", words: "The cache grows, and its entries weigh 1.0 on average: ", within: 12 * time.Minute},
		{name: "entries are counted", options: cache.Options[int, int]{MaxWeight: 1<<20 - 1, Weigh: func(int, int) uint32 { return 1 }}, ill: grow, lasts: 15 * time.Minute},
		{name: "bytes are weighed", options: cache.Options[int, int]{MaxWeight: 1 << 20, Weigh: func(int, int) uint32 { return 8 }}, ill: grow, lasts: 15 * time.Minute},
	} {
		t.Run(i.name, func(t *testing.T) {
			if cause, ok := inGuide[i.name]; ok && cause != i.cause {
				t.Errorf("by docs/monitoring.md the page says %q, want %q", cause, i.cause)
			}
			if i.cause != "" && !slices.Contains(sources.Causes, i.cause) {
				t.Errorf("sources.Causes has no %q", i.cause)
			}
			tried[i.cause] = true
			synctest.Test(t, i.test)
		})
	}
	for name, cause := range inGuide {
		if !tried[cause] && !slices.Contains([]string{"none", "source silent", "store fails", "workers busy", "memory limit", "was stopped"}, cause) { // those have tests of their own
			t.Errorf("docs/monitoring.md says that the page says %q of %q, which is not tried here", cause, name)
		}
	}
}

func (i illness) test(t *testing.T) {
	var p *patient
	if i.fake != nil {
		p = newFake(t, i.fake(new(fake)))
		i.fake(p.fake)
	} else {
		p = newPatient(t, i.options)
	}
	p.findings() // somebody had the page open before
	if i.healthy != nil {
		p.serve(10*time.Minute, i.healthy(p))
		if said := p.findings(); len(said) > 0 {
			t.Errorf("before, the page says %+v", said)
		}
	}
	if i.begin != nil {
		i.begin(p)
	}
	named, _ := i.watch(p, i.lasts, i.ill(p), true)
	if i.cause != "" && (named < 0 || named > i.within) {
		t.Errorf("it is named after %v, want %v", named, i.within)
	}
	if i.over == 0 {
		return
	}
	if i.end != nil {
		i.end(p)
	}
	if _, ended := i.watch(p, i.over+2*time.Minute, i.healthy(p), false); ended < 0 || ended > i.over {
		t.Errorf("it ends after %v, want %v", ended, i.over)
	}
}

// watch makes requests, and looks at the page each second. It returns when the cause was named first,
// and when it was not any more; -1 for never. Meanwhile it must come, or go, once, and nothing else be
// said, but that a cache is new.
func (i illness) watch(p *patient, lasts time.Duration, request func(), ill bool) (named, ended time.Duration) {
	named, ended = -1, -1
	also := make(map[string]bool)
	for at := time.Duration(0); at < lasts; at += time.Second {
		p.serve(time.Second, request)
		going := false
		for _, f := range p.findings() {
			switch {
			case f.Cause == i.first || f.Cause == "new" && i.healthy == nil && f.Cause != i.cause:
			case f.Cause != i.cause:
				if !also[f.Cause] {
					also[f.Cause] = true
					p.t.Errorf("after %v the page also says %+v", at, f)
				}
			case f.Ended == 0:
				going = true
				if ill && at > i.within && (f.Level != i.level || !strings.Contains(f.Words, i.words)) {
					p.t.Fatalf("after %v the page says %+v\nwant %s: %s", at, f, i.level, i.words)
				}
			}
		}
		if going && named < 0 {
			named = at + time.Second
		}
		if !going && ended < 0 {
			ended = at + time.Second
		}
		early := i.first != "" && at <= i.within // then either may be said
		if ill && named >= 0 && !going && !early || !ill && ended >= 0 && going {
			p.t.Fatalf("%v after it changed, it flaps: %+v", at, p.findings())
		}
	}
	return named, ended
}

// grow returns a request that also stores new keys.
func grow(p *patient) func() {
	return func() {
		p.usual()
		if rand.IntN(20) == 0 {
			p.Set(p.newKey(), 1)
		}
	}
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
