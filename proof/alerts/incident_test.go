package alerts

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// database is how long a load takes.
const database = 2 * time.Millisecond

// An incident is a kind of trouble of a service, and how the board shows it. Its alerts are in the
// table of causes, if it is there; otherwise it has none.
type incident struct {
	name  string
	run   func(s *service)
	shows []reading // of the board
}

const (
	misses   = "Misses by reason"
	estimate = "Estimated hit ratio by limit"
	hangs    = "What hangs"
	failures = "Loads that failed, callers that gave up"
	keys     = "Keys that fail"
	waits    = "What loads and callers wait for"
	got      = "What callers got"
	process  = "Process"
)

var errDown = errors.New("connection refused")

// above returns the reading of a curve above a bound.
func above(panel, curve string, bound float64) reading {
	return reading{panel: panel, curve: curve, from: bound, to: math.Inf(1)}
}

// incidents are the causes of the table in docs/monitoring.md, in its order: the first that the
// board shows counts.
var incidents = []incident{
	{"process down", func(s *service) {
		s.busy()
		s.stopped = true
		s.trouble(10*time.Minute, func() {})
	}, nil},
	{"was stopped", func(s *service) {
		c := s.busy()
		s.stopped = true
		s.trouble(30*time.Second, func() {})
		s.stopped, s.stops = false, 1
		s.serve(4*time.Minute, c.popular(database, nil))
	}, []reading{{panel: process, curve: "host:1 stops", from: 1, to: 2, ago: 2 * time.Minute}}},
	{"memory limit", func(s *service) {
		c := s.busy()
		s.heap, s.collecting = 950<<20, 0.4
		s.trouble(10*time.Minute, c.popular(database, nil))
	}, []reading{above(process, "host:1 memory", 0.9), above(process, "host:1 collector", 0.25)}},
	{"source silent", func(s *service) {
		c, source := s.near()
		s.serve(2*time.Hour, c.popular)
		source.watcher.Lost(errors.New("no answer"))
		s.trouble(10*time.Minute, c.popular)
	}, []reading{above("Near: lag", "users host:1", 60)}},
	{"source slow", func(s *service) {
		s.query = "?all=1" // for the board
		c, source := s.near()
		s.serve(2*time.Hour, c.popular)
		source.late.Store(int64(850 * time.Millisecond)) // MaxLag is a second
		s.trouble(10*time.Minute, c.popular)
	}, []reading{{panel: "Near: lag", curve: "users least", from: 0.8, to: 1}}},
	{"source partial", func(s *service) {
		c, source := s.near()
		s.serve(2*time.Hour, c.popular)
		source.partial.Store(true)
		s.trouble(10*time.Minute, c.popular)
	}, []reading{above("Near: trouble", "users instances with a partial source", 1)}},
	{"values undecodable", func(s *service) {
		c, _ := s.near()
		s.serve(2*time.Hour, c.popular)
		c.store.broken.Store(true)
		s.trouble(10*time.Minute, c.popular)
	}, []reading{above("Near: trouble", "users values not decodable a second", 0.1)}},
	{"the source leaves out changes", func(s *service) {
		c, _ := s.audited(20)
		s.serve(2*time.Hour, c.popular)
		requests := 0
		s.trouble(10*time.Minute, func() {
			if requests++; requests%(20*10) == 0 { // every 10 seconds
				c.store.changes.Add(1)
			}
			c.popular()
		})
	}, []reading{above("Near: audits", "users violation", 0.01)}},
	{"a Del fails", func(s *service) {
		c, _ := s.near()
		s.serve(2*time.Hour, c.popular)
		c.store.failDel.Store(true)
		s.trouble(10*time.Minute, func() {
			c.popular()
			if rand.IntN(200) == 0 {
				_ = c.Del(context.Background(), 7)
			}
		})
		c.store.failDel.Store(false)
	}, []reading{above("Near: trouble", "users keys not removed", 1)}},
	{"store fails", func(s *service) {
		c, _ := s.near()
		s.serve(2*time.Hour, c.popular)
		c.store.fail.Store(true)
		s.trouble(10*time.Minute, c.popular)
	}, []reading{above("Near: trouble", "users errors of the store a second", 0.1)}},
	{"source reconnects", func(s *service) {
		c, source := s.near()
		next := 0
		s.serve(2*time.Hour, c.popular)
		s.trouble(time.Hour, func() {
			if next++; next%(20*100) == 0 { // every 100 seconds
				source.watcher.Lost(errors.New("reset"))
				source.watcher.ChangedAll()
			}
			c.popular()
		})
	}, []reading{above("Near: trouble", "users connections lost", 1)}},
	{"store slow", func(s *service) {
		c, _ := s.near()
		s.serve(2*time.Hour, c.popular)
		c.store.takes.Store(int64(400 * time.Millisecond))
		s.trouble(10*time.Minute, c.popular)
	}, []reading{above(waits, "users store", 0.25)}},
	{"the store evicts", func(s *service) {
		c, source := s.near()
		s.serve(2*time.Hour, c.popular)
		s.trouble(10*time.Minute, func() {
			source.watcher.ChangedAll()
			c.popular()
		})
	}, []reading{above("Near: changes reported, any key", "users everything", 100)}},
	{"database hangs", func(s *service) {
		c := s.busy()
		answer := make(chan struct{})
		defer close(answer)
		s.trouble(10*time.Minute, func() { c.takeWithin(2*time.Second, int(c.zipf.Uint64()), answer) })
	}, []reading{above(hangs, "users load", 30)}},
	{"database hangs, with Timeout", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) { o.Timeout = time.Second })
		s.serve(2*time.Hour, c.popular(database, nil))
		s.trouble(10*time.Minute, func() {
			go c.TakeCtx(context.Background(), int(c.zipf.Uint64()), func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		})
	}, []reading{above(failures, "users timed out", 1)}},
	{"database down", func(s *service) {
		c := s.busy()
		s.trouble(10*time.Minute, c.popular(database, errDown))
	}, []reading{above(failures, "users failed", 1)}},
	{"one key fails", func(s *service) {
		c, n := s.busy(), 0
		s.trouble(10*time.Minute, func() {
			c.popular(database, nil)()
			if n++; n%100 == 0 {
				c.take(-1, database, errDown)
			}
		})
	}, []reading{above(keys, "users host:1 in a row", 5), {panel: keys, curve: "users keys", from: 1, to: 3}}},
	{"MaxLoads too low", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) { o.MaxLoads = 1 })
		request := c.popular(60*time.Millisecond, nil)
		s.serve(2*time.Hour, request)
		s.trouble(10*time.Minute, func() {
			for range 3 {
				request()
			}
		})
	}, []reading{above(waits, "users MaxLoads", 0.25)}},
	{"database slow", func(s *service) {
		s.query = "?all=1" // for CacheCallersWait
		c := s.busy()
		s.trouble(10*time.Minute, c.popular(3*time.Second, nil))
	}, []reading{above("Load time", "users p50", 0.1)}},
	{"callers wait for callbacks", func(s *service) {
		answer := make(chan struct{})
		defer close(answer)
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(cache.Event[int, int]) { <-answer }
			o.Limit, o.WhatIf, o.Workers = 10, false, 1
		})
		s.trouble(4*time.Minute, func() {
			for range 8 {
				go c.Set(rand.IntN(1_000_000), 1)
			}
		})
	}, []reading{above(got, "users held up", 1)}},
	{"callbacks hang", func(s *service) {
		answer := make(chan struct{})
		defer close(answer)
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(e cache.Event[int, int]) {
				if e.Key == 1 {
					<-answer
				}
			}
			o.Workers = 8
		})
		c.Set(1, 1)
		c.Del(1)
		s.trouble(10*time.Minute, func() { c.take(2+rand.IntN(100), database, nil) })
	}, []reading{above(hangs, "users callback", 60)}},
	{"one instance fails", func(s *service) {
		s.fleet(func(c users) {
			err := error(nil)
			if rand.IntN(100) < 15 {
				err = errDown
			}
			c.popular(database, err)()
		})
	}, []reading{above("Loads of an instance", "users host:2 failed", 0.1)}},
	{"one instance is slow", func(s *service) {
		s.fleet(func(c users) { c.popular(300*time.Millisecond, nil)() })
	}, []reading{above("Loads of an instance", "users host:2 p50", 0.1)}},
	{"one instance misses", func(s *service) {
		n := 0
		s.fleet(func(c users) {
			if n++; n%100 == 0 {
				c.Clear()
			}
			c.popular(database, nil)()
		})
	}, []reading{{panel: "Hit ratio of an instance", curve: "users host:2", from: 0, to: 0.7}}},
	{"one hot key", func(s *service) {
		c := s.busy()
		s.trouble(15*time.Minute, func() {
			c.popular(database, nil)()
			c.take(7, database, nil)
			c.take(7, database, nil)
		})
	}, []reading{{panel: "Hottest key", curve: "users host:1", from: 0.3, to: 1}}},
	{"deploy", func(s *service) {
		c := s.busy()
		s.do(c.Close(context.Background()))
		c = s.users(nil)
		s.trouble(9*time.Minute, c.popular(database, nil))
	}, []reading{{panel: "Time since it was made", curve: "users host:1", from: 0, to: 600}}},
	{"Clear", func(s *service) {
		c, n := s.busy(), 0
		s.trouble(10*time.Minute, func() {
			if n++; n%100 == 0 {
				c.Clear()
			}
			c.popular(database, nil)()
		})
	}, []reading{above("Cleared and deleted", "users cleared", 0.1)}},
	{"TTL too short", func(s *service) {
		c := s.busy()
		s.do(c.Close(context.Background()))
		c = s.users(func(o *cache.Options[int, int]) { o.Expire = time.Second })
		s.trouble(15*time.Minute, c.popular(database, nil))
	}, []reading{{panel: misses, curve: "users expired", from: 0.2, to: 1}}},
	{"limit lowered", func(s *service) {
		c := s.busy()
		c.Resize(5)
		s.trouble(10*time.Minute, c.popular(database, nil))
	}, []reading{{panel: "Entries", curve: "users", from: 1, to: 20}}},
	{"key set grown", func(s *service) {
		c := s.busy()
		s.trouble(10*time.Minute, c.uniform(800))
	}, []reading{
		{panel: "Hit ratio", curve: "users", from: 0.6, to: 1, ago: time.Hour},
		{panel: estimate, curve: "users now", from: 0, to: 0.4},
		{panel: estimate, curve: "users double", from: 0.4, to: 1},
	}},
	{"limit too small", func(s *service) {
		s.serve(4*time.Hour, s.users(nil).uniform(390))
	}, []reading{
		{panel: estimate, curve: "users now", from: 0, to: 0.6},
		{panel: estimate, curve: "users double", from: 0.8, to: 1},
	}},
	{"bots", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) {
			o.Negative = func(error) time.Duration { return time.Minute }
		})
		s.serve(2*time.Hour, c.popular(database, nil))
		s.trouble(10*time.Minute, func() {
			c.popular(database, nil)()
			for range 2 {
				c.take(s.newKey(), database, cache.ErrNotFound)
			}
		})
	}, []reading{above("Errors stored, and loads that wait", "users not found a second", 5)}},
	{"scan", func(s *service) {
		c := s.busy()
		s.trouble(90*time.Minute, func() {
			c.popular(database, nil)()
			for range 2 {
				c.take(s.newKey(), database, nil)
			}
		})
	}, []reading{
		{panel: misses, curve: "users absent", from: 0.4, to: 1},
		{panel: estimate, curve: "users double", from: 0, to: 0.4},
	}},
	{"memory grows", func(s *service) {
		s.grow(s.users(func(o *cache.Options[int, int]) { o.Limit, o.WhatIf, o.Expire = 0, false, 0 }))
	}, []reading{above("Entries", "users", 10_000)}},
	{"weights near zero", func(s *service) {
		s.grow(s.users(func(o *cache.Options[int, int]) {
			o.Limit, o.WhatIf, o.Expire = 0, false, 0
			o.MaxWeight, o.Weigh = 1<<20, func(int, int) uint32 { return 0 }
		}))
	}, nil},
	{"OnRemove is slow", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(cache.Event[int, int]) { time.Sleep(time.Second) }
			o.Workers = 1
		})
		s.trouble(time.Hour, c.popular(database, nil))
	}, nil},
	{"OnRemove panics", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(cache.Event[int, int]) { panic("oh") }
			o.OnPanic = func(any, []byte) {}
		})
		s.trouble(10*time.Minute, c.popular(database, nil))
	}, nil},
	{"workers busy", func(s *service) {
		s.useWheel(func(int) { time.Sleep(10 * time.Second) })
	}, nil},
	{"callbacks of a wheel panic", func(s *service) {
		s.useWheel(func(int) { panic("oh") })
	}, nil},
}

// healthy are services without trouble.
var healthy = []incident{
	{"healthy", func(s *service) {
		s.serve(4*time.Hour, s.users(nil).popular(database, nil))
	}, nil},
	{"cleared once", func(s *service) {
		c := s.busy()
		c.Clear()
		s.trouble(time.Hour, c.popular(database, nil))
	}, nil},
	{"a hot key comes and goes", func(s *service) {
		c := s.busy()
		hot := func() {
			c.popular(database, nil)()
			for range 20 {
				c.take(7, database, nil)
			}
		}
		s.serve(2*time.Hour, hot)
		s.trouble(time.Hour, c.popular(database, nil))
	}, nil},
	{"the database is down for twenty seconds, with Grace", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) { o.Grace = time.Hour })
		s.serve(2*time.Hour, c.popular(database, nil))
		s.trouble(20*time.Second, c.popular(database, errDown))
		s.serve(10*time.Minute, c.popular(database, nil))
	}, nil},
	{"a fleet is deployed again and again", func(s *service) {
		var all []users
		for host := range instances {
			all = append(all, s.instance(host))
		}
		request := func() {
			for _, c := range all {
				c.popular(database, nil)()
			}
		}
		s.serve(2*time.Hour, request)
		s.trouble(0, request)
		for n := range 4 * instances {
			host := n % instances
			s.do(all[host].Close(context.Background()))
			all[host] = s.instance(host)
			s.serve(3*time.Minute, request)
		}
	}, nil},
}

// TestIncidents runs a service with a cache in front of a database through each incident, in
// fake time, which Prometheus scrapes every 15 seconds during the trouble. The alerts of the table,
// and no others, fire as soon as it says, not much sooner, and until the trouble ends. The board shows
// the cause, and none in a healthy service.
func TestIncidents(t *testing.T) {
	guide := causes(t)
	for _, test := range slices.Concat(incidents, healthy) {
		t.Run(test.name, func(t *testing.T) {
			alone(t)
			var scrapes []scrape
			var troubled time.Duration
			synctest.Test(t, func(t *testing.T) {
				s := &service{t: t, began: time.Now(), heap: 100 << 20, collecting: 0.02}
				test.run(s)
				scrapes, troubled = s.scrapes, s.troubled
			})
			prometheus, end := newMonitor(t), scrapes[len(scrapes)-1].at
			fired, wanted := prometheus.evaluate(t, scrapes), guide[test.name].alerts
			if got, want := fired.names(), slices.Sorted(maps.Keys(wanted)); !slices.Equal(got, want) {
				t.Errorf("%v fired, want %v", fired, want)
			}
			for name, f := range fired {
				t.Logf("%s after %v", name, f.first-troubled)
				if after, want := f.first-troubled, wanted[name]; after > want || after < want/2 {
					t.Errorf("%s fired after %v of trouble, want %v", name, after, want)
				}
				if f.last != end {
					t.Errorf("%s ended at %v, with the trouble going on", name, f.last)
				}
			}
			found := "healthy"
			if i := slices.IndexFunc(incidents, func(i incident) bool { return i.shows != nil && prometheus.showsAll(t, i.shows, end) }); i >= 0 {
				found = incidents[i].name
			}
			if found != test.name && (test.shows != nil || test.name == "healthy") {
				t.Errorf("by the board it is %q", found)
			}
		})
	}
}

// TestEveryCauseIsProvoked compares the causes of the table with the incidents, the panels with those
// that are read here, and the alerts with those of the file.
func TestEveryCauseIsProvoked(t *testing.T) {
	guide := causes(t)
	var provoked []string
	for _, i := range incidents {
		cause, ok := guide[i.name]
		if !ok {
			t.Errorf("the table of docs/monitoring.md has no %q", i.name)
		}
		delete(guide, i.name)
		provoked = append(provoked, slices.Collect(maps.Keys(cause.alerts))...)
		for _, r := range i.shows {
			if !strings.Contains(cause.panels, strconv.Quote(r.panel)) {
				t.Errorf("%s: %q does not name the panel %q", i.name, cause.panels, r.panel)
			}
		}
	}
	for name := range guide {
		t.Errorf("the table has %q, which is not provoked", name)
	}
	slices.Sort(provoked)
	if rules := alerts(t); !slices.Equal(rules, slices.Compact(provoked)) {
		t.Errorf("the rules are\n%q\nand provoked are\n%q", rules, slices.Compact(provoked))
	}
}
