package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
)

// guide has the table of causes.
const guide = "../../docs/monitoring.md"

// database is how long a load takes.
const database = 2 * time.Millisecond

// within has the alerts that fire, and how long after the trouble began at most.
type within map[string]time.Duration

func (w within) names() []string { return slices.Sorted(maps.Keys(w)) }

// An incident is a kind of trouble of a service, with its alerts and panels.
type incident struct {
	name  string
	run   func(s *service)
	fires within
	shows []reading // of the board
}

const (
	misses   = "Misses by reason"
	estimate = "Estimated hit ratio by limit"
	hangs    = "What hangs"
	failures = "Loads that failed, callers that gave up"
)

// causes are the causes of the table in docs/monitoring.md, in its order: the first that the
// board shows counts.
var causes = []incident{
	{"database hangs", func(s *service) {
		c := s.busy()
		answer := make(chan struct{})
		defer close(answer)
		s.trouble(3*time.Hour, func() { c.takeWithin(2*time.Second, int(c.zipf.Uint64()), answer) })
	}, within{"CacheCallersGiveUp": 5 * time.Minute, "CacheHitRatioCollapsed": 25 * time.Minute, "CacheLoadsHang": 2 * time.Minute},
		[]reading{{panel: hangs, curve: "users load", from: 30, to: math.Inf(1)}}},
	{"database down", func(s *service) {
		c := s.busy()
		s.trouble(time.Hour, c.popular(database, errors.New("connection refused")))
	}, within{"CacheHitRatioCollapsed": 25 * time.Minute, "CacheLoadsFail": 15 * time.Minute},
		[]reading{{panel: failures, curve: "users failed", from: 1, to: math.Inf(1)}}},
	{"database slow", func(s *service) {
		c := s.busy()
		s.trouble(time.Hour, c.popular(300*time.Millisecond, nil))
	}, within{"CacheLoadsSlow": 15 * time.Minute},
		[]reading{{panel: "Load time", curve: "users p50", from: 0.1, to: 1}}},
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
		s.serve(time.Hour, func() { c.take(2+rand.IntN(100), database, nil); c.take(1, database, nil) })
	}, within{"CacheCallbackHangs": 10 * time.Minute},
		[]reading{{panel: hangs, curve: "users callback", from: 60, to: math.Inf(1)}}},
	{"one hot key", func(s *service) {
		c := s.busy()
		s.trouble(15*time.Minute, func() {
			c.popular(database, nil)()
			c.take(7, database, nil)
			c.take(7, database, nil)
		})
	}, nil, []reading{{panel: "Hottest key", curve: "users host:1", from: 0.3, to: 1}}},
	{"deploy", func(s *service) {
		c := s.busy()
		s.do(c.Close(context.Background()))
		c = s.users(nil)
		s.trouble(5*time.Minute, c.popular(database, nil))
	}, nil, []reading{{panel: "Time since it was made", curve: "users host:1", from: 0, to: 600}}},
	{"Clear", func(s *service) {
		c, n := s.busy(), 0
		s.trouble(time.Hour, func() {
			if n++; n%100 == 0 {
				c.Clear()
			}
			c.popular(database, nil)()
		})
	}, within{"CacheHitRatioCollapsed": 25 * time.Minute},
		[]reading{{panel: "Cleared and deleted", curve: "users cleared", from: 0.1, to: math.Inf(1)}}},
	{"TTL too short", func(s *service) {
		c := s.busy()
		s.do(c.Close(context.Background()))
		c = s.users(func(o *cache.Options[int, int]) { o.Expire = time.Second })
		s.trouble(time.Hour, c.popular(database, nil))
	}, within{"CacheHitRatioCollapsed": 25 * time.Minute},
		[]reading{{panel: misses, curve: "users expired", from: 0.2, to: 1}}},
	{"key set grown", func(s *service) {
		c := s.busy()
		s.trouble(2*time.Hour, c.uniform(800))
	}, within{"CacheEvictsYoungEntries": time.Hour, "CacheHitRatioCollapsed": 25 * time.Minute}, []reading{
		{panel: "Hit ratio", curve: "users", from: 0.6, to: 1, ago: 3 * time.Hour},
		{panel: estimate, curve: "users now", from: 0, to: 0.4},
		{panel: estimate, curve: "users double", from: 0.4, to: 1},
	}},
	{"limit too small", func(s *service) {
		s.serve(4*time.Hour, s.users(nil).uniform(390))
	}, within{"CacheTooSmall": 3 * time.Hour}, []reading{
		{panel: estimate, curve: "users now", from: 0, to: 0.6},
		{panel: estimate, curve: "users double", from: 0.8, to: 1},
	}},
	{"scan", func(s *service) {
		c, next := s.busy(), 1_000_000
		s.trouble(90*time.Minute, func() {
			c.popular(database, nil)()
			for range 2 {
				next++
				c.take(next, database, nil)
			}
		})
	}, within{"CacheEvictsYoungEntries": time.Hour, "CacheHitRatioCollapsed": 25 * time.Minute}, []reading{
		{panel: misses, curve: "users absent", from: 0.4, to: 1},
		{panel: estimate, curve: "users double", from: 0, to: 0.4},
	}},
	{"memory grows", func(s *service) {
		c, next := s.users(func(o *cache.Options[int, int]) { o.Limit, o.WhatIf, o.Expire = 0, false, 0 }), 0
		s.serve(10*time.Hour, func() {
			if rand.IntN(10) == 0 {
				next++
				c.popular(database, nil)()
				c.Set(1_000_000+next, 1)
			}
		})
	}, within{"CacheGrowsWithoutLimit": 8 * time.Hour},
		[]reading{{panel: "Entries", curve: "users", from: 10_000, to: math.Inf(1)}}},
}

// others are incidents with alerts that no cause of the table has, and one without alerts.
var others = []incident{
	{"healthy", func(s *service) {
		s.serve(4*time.Hour, s.users(nil).popular(database, nil))
	}, nil, nil},
	{"cleared once", func(s *service) {
		c := s.busy()
		c.Clear()
		s.trouble(time.Hour, c.popular(database, nil))
	}, nil, nil},
	{"each key comes once", func(s *service) {
		c, next := s.users(nil), 0
		s.serve(2*time.Hour, func() { next++; c.take(next, database, nil) })
	}, within{"CacheEvictsYoungEntries": time.Hour}, nil},
	{"OnRemove is slow", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(cache.Event[int, int]) { time.Sleep(time.Second) }
			o.Workers = 1
		})
		s.serve(time.Hour, c.popular(database, nil))
	}, within{"CacheCallbacksBehind": 15 * time.Minute, "CacheExpiryStuck": 35 * time.Minute}, nil},
	{"OnRemove is slow, and then much expires", func(s *service) {
		c, next := s.users(func(o *cache.Options[int, int]) {
			o.Limit, o.WhatIf, o.Expire = 0, false, time.Minute
			o.OnRemove = func(cache.Event[int, int]) { time.Sleep(time.Second) }
			o.Workers = 1
		}), 0
		s.serve(10*time.Minute, func() { next++; c.take(next, database, nil) })
		s.serve(time.Hour, func() {})
	}, within{"CacheCallbacksBehind": 15 * time.Minute, "CacheExpiryLate": 25 * time.Minute, "CacheExpiryStuck": 25 * time.Minute}, nil},
	{"OnRemove panics", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(cache.Event[int, int]) { panic("oh") }
			o.OnPanic = func(any, []byte) {}
		})
		s.serve(time.Hour, c.popular(database, nil))
	}, within{"CacheCallbackPanics": 3 * time.Minute}, nil},
	{"the source of a near cache falls silent", func(s *service) {
		c, source := s.near(near.Bypass)
		s.serve(2*time.Hour, c.popular)
		source.Lost(errors.New("no answer"))
		s.trouble(time.Hour, c.popular)
	}, within{"CacheHitRatioCollapsed": 25 * time.Minute, "CacheNearSilent": 10 * time.Minute}, nil},
	{"the connection of a near cache breaks again and again", func(s *service) {
		c, source := s.near(near.Bypass)
		next := 0
		s.serve(2*time.Hour, func() {
			if next++; next%(20*100) == 0 { // every 100 seconds
				source.Lost(errors.New("reset"))
				source.ChangedAll()
			}
			c.popular()
		})
	}, within{"CacheNearReconnects": 15 * time.Minute}, nil},
	{"the store of a near cache fails", func(s *service) {
		c, _ := s.near(near.Bypass)
		s.serve(time.Hour, c.popular)
		c.store.fail.Store(true)
		s.trouble(time.Hour, c.popular)
	}, within{"CacheHitRatioCollapsed": 25 * time.Minute, "CacheNearStoreFails": 10 * time.Minute}, nil},
	{"callbacks of a wheel are slow", func(s *service) {
		s.useWheel(func(int) { time.Sleep(10 * time.Second) })
	}, within{"TimingWheelBehind": 15 * time.Minute, "TimingWheelLate": 20 * time.Minute}, nil},
	{"callbacks of a wheel panic", func(s *service) {
		s.useWheel(func(int) { panic("oh") })
	}, within{"TimingWheelPanics": 3 * time.Minute}, nil},
}

// TestIncidents runs a service with a cache in front of a database through each incident, in
// fake time. Its alerts, and no others, fire in time and until the trouble ends. The board
// shows the cause, and none in a healthy service.
func TestIncidents(t *testing.T) {
	for _, test := range slices.Concat(causes, others) {
		t.Run(test.name, func(t *testing.T) {
			alone(t)
			var scrapes []scrape
			var troubled time.Duration
			synctest.Test(t, func(t *testing.T) {
				s := &service{t: t, began: time.Now()}
				test.run(s)
				scrapes, troubled = s.scrapes, s.troubled
			})
			prometheus, end := newMonitor(t), scrapes[len(scrapes)-1].at
			fired := prometheus.evaluate(t, scrapes)
			if got := fired.names(); !slices.Equal(got, test.fires.names()) {
				t.Errorf("%v fired, want %v", fired, test.fires.names())
			}
			for name, f := range fired {
				if after := f.first - troubled; after > test.fires[name] {
					t.Errorf("%s fired after %v of trouble, want %v", name, after, test.fires[name])
				}
				if f.last != end {
					t.Errorf("%s ended at %v, with the trouble going on", name, f.last)
				}
			}
			found := "healthy"
			if i := slices.IndexFunc(causes, func(c incident) bool { return prometheus.showsAll(t, c.shows, end) }); i >= 0 {
				found = causes[i].name
			}
			if found != test.name && (test.shows != nil || test.name == "healthy") {
				t.Errorf("by the board it is %q", found)
			}
		})
	}
}

// TestGuideHasCauses compares the table of causes in docs/monitoring.md with those here.
func TestGuideHasCauses(t *testing.T) {
	content, err := os.ReadFile(guide)
	settle.Must(t, err)
	_, table, _ := strings.Cut(string(content), "\n| Cause |")
	rows := strings.Split(table, "\n")[2:]
	for i, c := range causes {
		cells := strings.Split(rows[i], " | ")
		if cells[0] != "| "+c.name {
			t.Fatalf("row %d is %q, want the cause %q", i, rows[i], c.name)
		}
		for _, r := range c.shows {
			if !strings.Contains(cells[2], fmt.Sprintf("%q", r.panel)) {
				t.Errorf("%s: %q does not name the panel %q", c.name, cells[2], r.panel)
			}
		}
		if want := strings.Join(c.fires.names(), ", "); want != "" && !strings.HasPrefix(cells[3], want) || want == "" && cells[3] != "none" {
			t.Errorf("%s: the alerts are %q, want %q", c.name, cells[3], want)
		}
	}
}

// TestEveryAlertIsProvoked compares the alerts of the incidents with those of the file.
func TestEveryAlertIsProvoked(t *testing.T) {
	var provoked []string
	for _, incident := range slices.Concat(causes, others) {
		provoked = append(provoked, incident.fires.names()...)
	}
	slices.Sort(provoked)
	provoked = slices.Compact(provoked)
	if rules := alerts(t); !slices.Equal(rules, provoked) {
		t.Errorf("the rules are\n%q\nand provoked are\n%q", rules, provoked)
	}
}
