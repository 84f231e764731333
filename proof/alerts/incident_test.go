package alerts

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// database is how long a load takes.
const database = 2 * time.Millisecond

// incidents are what a service may go through, and the alerts that tell of it.
var incidents = []struct {
	name  string
	run   func(s *service)
	fires []string
}{
	{"healthy", func(s *service) {
		s.serve(4*time.Hour, s.users(nil).popular(database, nil))
	}, nil},
	{"the keys asked for grew a hundredfold", func(s *service) {
		c := s.users(nil)
		s.serve(4*time.Hour, c.popular(database, nil))
		s.serve(3*time.Hour, func() { c.take(rand.IntN(100_000), database, nil) })
	}, []string{"CacheEvictsYoungEntries", "CacheHitRatioCollapsed"}},
	{"the database is slow", func(s *service) {
		c := s.users(nil)
		s.serve(2*time.Hour, c.popular(database, nil))
		s.serve(time.Hour, c.popular(300*time.Millisecond, nil))
	}, []string{"CacheLoadsSlow"}},
	{"the database is down", func(s *service) {
		c := s.users(nil)
		s.serve(2*time.Hour, c.popular(database, nil))
		s.serve(time.Hour, c.popular(database, errors.New("connection refused")))
	}, []string{"CacheHitRatioCollapsed", "CacheLoadsFail"}},
	{"the database hangs", func(s *service) {
		c := s.users(nil)
		s.serve(2*time.Hour, c.popular(database, nil))
		answer := make(chan struct{})
		defer close(answer)
		s.serve(time.Hour, func() { c.takeWithin(2*time.Second, int(c.zipf.Uint64()), answer) })
	}, []string{"CacheCallersGiveUp", "CacheHitRatioCollapsed", "CacheLoadsHang"}},
	{"a call of OnRemove hangs", func(s *service) {
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
	}, []string{"CacheCallbackHangs"}},
	{"the limit is too small", func(s *service) {
		c := s.users(nil)
		s.serve(4*time.Hour, func() { c.take(rand.IntN(390), database, nil) })
	}, []string{"CacheTooSmall"}},
	{"each key comes once", func(s *service) {
		c, next := s.users(nil), 0
		s.serve(4*time.Hour, func() { next++; c.take(next, database, nil) })
	}, []string{"CacheEvictsYoungEntries"}},
	{"a cache without limit grows", func(s *service) {
		c, next := s.users(func(o *cache.Options[int, int]) { o.Limit, o.WhatIf, o.Expire = 0, false, 0 }), 0
		s.serve(10*time.Hour, func() {
			c.popular(database, nil)()
			if rand.IntN(10) == 0 {
				next++
				c.Set(1_000_000+next, 1)
			}
		})
	}, []string{"CacheGrowsWithoutLimit"}},
	{"OnRemove is slow", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(cache.Event[int, int]) { time.Sleep(time.Second) }
			o.Workers = 1
		})
		s.serve(time.Hour, c.popular(database, nil))
	}, []string{"CacheCallbacksBehind", "CacheExpiryStuck"}},
	{"OnRemove is slow, and then much expires", func(s *service) {
		c, next := s.users(func(o *cache.Options[int, int]) {
			o.Limit, o.WhatIf, o.Expire = 0, false, time.Minute
			o.OnRemove = func(cache.Event[int, int]) { time.Sleep(time.Second) }
			o.Workers = 1
		}), 0
		s.serve(10*time.Minute, func() { next++; c.take(next, database, nil) })
		s.serve(time.Hour, func() {})
	}, []string{"CacheCallbacksBehind", "CacheExpiryLate", "CacheExpiryStuck"}},
	{"OnRemove panics", func(s *service) {
		c := s.users(func(o *cache.Options[int, int]) {
			o.OnRemove = func(cache.Event[int, int]) { panic("oh") }
			o.OnPanic = func(any, []byte) {}
		})
		s.serve(time.Hour, c.popular(database, nil))
	}, []string{"CacheCallbackPanics"}},
	{"callbacks of a wheel are slow", func(s *service) {
		w := s.wheel(func(int) { time.Sleep(10 * time.Second) })
		next := 0
		s.serve(time.Hour, func() { next++; s.do(w.SetTimer(next, next, time.Second)) })
	}, []string{"TimingWheelBehind", "TimingWheelLate"}},
	{"callbacks of a wheel panic", func(s *service) {
		w := s.wheel(func(int) { panic("oh") })
		next := 0
		s.serve(time.Hour, func() { next++; s.do(w.SetTimer(next, next, time.Second)) })
	}, []string{"TimingWheelPanics"}},
}

// TestIncidents provokes the cause of each alert in a service with a cache in front of a
// database, in fake time. The alerts named fire, and no others, and do not end while the
// trouble goes on.
func TestIncidents(t *testing.T) {
	for _, test := range incidents {
		t.Run(test.name, func(t *testing.T) {
			alone(t)
			var scrapes []scrape
			synctest.Test(t, func(t *testing.T) {
				s := &service{t: t, began: time.Now()}
				test.run(s)
				scrapes = s.scrapes
			})
			fired := evaluate(t, scrapes)
			if got := slices.Sorted(fired.names()); !slices.Equal(got, test.fires) {
				t.Errorf("%v fired, want %v", fired, test.fires)
			}
			for name, f := range fired {
				if f.last != scrapes[len(scrapes)-1].at {
					t.Errorf("%s ended at %v, with the trouble going on", name, f.last)
				}
			}
		})
	}
}

// TestEveryAlertIsProvoked compares the alerts of the incidents with those of the file.
func TestEveryAlertIsProvoked(t *testing.T) {
	var provoked []string
	for _, incident := range incidents {
		provoked = append(provoked, incident.fires...)
	}
	slices.Sort(provoked)
	provoked = slices.Compact(provoked)
	if rules := alerts(t); !slices.Equal(rules, provoked) {
		t.Errorf("the rules are\n%q\nand provoked are\n%q", rules, provoked)
	}
}

// A service has caches and wheels, and is scraped every minute.
type service struct {
	t       *testing.T
	began   time.Time
	scrapes []scrape
}

// A scrape is what Prometheus got, so long after the service began.
type scrape struct {
	at       time.Duration
	families map[string]*dto.MetricFamily
}

// users is a cache of users in front of a database.
type users struct {
	*cache.Cache[int, int]
	zipf *rand.Zipf
}

// users returns a cache that is like that of the example, with changes.
func (s *service) users(change func(*cache.Options[int, int])) users {
	o := cache.Options[int, int]{Name: "users", Limit: 200, Expire: 5 * time.Minute, Jitter: 0.05, Ages: true, WhatIf: true}
	if change != nil {
		change(&o)
	}
	c := cache.Must(o)
	s.t.Cleanup(func() { s.do(c.Close(context.Background())) })
	return users{c, rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 2_000)}
}

// popular returns a request for one of the users, most of them for a few, of a
// database that takes a time and may fail.
func (u users) popular(takes time.Duration, err error) func() {
	return func() { u.take(int(u.zipf.Uint64()), takes, err) }
}

func (u users) take(key int, takes time.Duration, err error) {
	go u.Take(key, func() (int, error) {
		time.Sleep(takes)
		return key, err
	})
}

// takeWithin is take by a caller that waits for so long, of a database that does not
// answer.
func (u users) takeWithin(d time.Duration, key int, answer chan struct{}) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		_, _ = u.TakeCtx(ctx, key, func(context.Context) (int, error) { <-answer; return key, nil })
	}()
}

func (s *service) wheel(execute func(int)) *timingwheel.TimingWheel[int, int] {
	w, err := timingwheel.New(100*time.Millisecond, 512, func(key, _ int) { execute(key) },
		timingwheel.WithOnPanic(func(any, []byte) {}))
	s.do(err)
	s.t.Cleanup(func() { s.do(w.Shutdown(context.Background())) })
	return w
}

func (s *service) do(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// serve makes twenty requests a second for a time.
func (s *service) serve(d time.Duration, request func()) {
	const every = 50 * time.Millisecond
	for n := range d / every {
		request()
		time.Sleep(every)
		if (n+1)%(time.Minute/every) == 0 {
			s.scrape()
		}
	}
}

func (s *service) scrape() {
	w := httptest.NewRecorder()
	stats.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	s.do(err)
	s.scrapes = append(s.scrapes, scrape{time.Since(s.began), families})
}

// alone waits until the caches of other tests are collected.
func alone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(stats.Caches())+len(stats.Wheels()) > 0; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("there are caches or wheels of other tests")
		}
	}
}
