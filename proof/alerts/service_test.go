package alerts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// A service has caches and wheels, and is scraped every minute.
type service struct {
	t        *testing.T
	began    time.Time
	troubled time.Duration // when the trouble began; from then on it is scraped every 15 seconds
	scrapes  []scrape
	query    string // of the scrapes
	keys     int    // new ones so far

	stopped    bool    // the process does not answer
	heap       float64 // bytes, of a limit of 1000 MiB
	collecting float64 // share of the CPUs
	collected  float64 // seconds
	stops      int
}

// instances is the size of a fleet.
const instances = 5

// A scrape is an answer to Prometheus, at a time after the start of the service.
type scrape struct {
	at       time.Duration
	families map[string]*dto.MetricFamily
}

// users is a cache of users in front of a database.
type users struct {
	*cache.Cache[int, int]
	zipf *rand.Zipf
}

// users returns a cache like that of the example, with changes.
func (s *service) users(change func(*cache.Options[int, int])) users {
	o := cache.Options[int, int]{Name: "users", Limit: 200, Expire: 5 * time.Minute, Jitter: 0.05, HotKeys: 20, Ages: true, WhatIf: true}
	if change != nil {
		change(&o)
	}
	c := cache.Must(o)
	s.t.Cleanup(func() { s.do(c.Close(context.Background())) })
	return users{c, rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 2_000)}
}

// busy returns users who have been asked for during two hours.
func (s *service) busy() users {
	c := s.users(nil)
	s.serve(2*time.Hour, c.popular(database, nil))
	return c
}

// instance returns users of an instance of a fleet.
func (s *service) instance(host int) users {
	return s.users(func(o *cache.Options[int, int]) { o.Name = fmt.Sprint("users@host:", host+1) })
}

// fleet runs a fleet, of which the second instance makes other requests after a while.
func (s *service) fleet(trouble func(users)) {
	var all []users
	for host := range instances {
		all = append(all, s.instance(host))
	}
	usual := func(c users) { c.popular(database, nil)() }
	second := usual
	request := func() {
		for host, c := range all {
			if host == 1 {
				second(c)
			} else {
				usual(c)
			}
		}
	}
	s.serve(2*time.Hour, request)
	second = trouble
	s.trouble(10*time.Minute, request)
}

// grow has a tenth of the requests store new keys.
func (s *service) grow(c users) {
	s.serve(10*time.Hour, func() {
		if rand.IntN(10) == 0 {
			c.popular(database, nil)()
			c.Set(s.newKey(), 1)
		}
	})
}

// newKey returns a key that was never used.
func (s *service) newKey() int { s.keys++; return 1_000_000 + s.keys }

// popular returns a request for one of the users, mostly one of a few, with a database that
// takes some time and may fail.
func (u users) popular(takes time.Duration, err error) func() {
	return func() { u.take(int(u.zipf.Uint64()), takes, err) }
}

// uniform returns a request for one of n users, all equally likely.
func (u users) uniform(n int) func() {
	return func() { u.take(rand.IntN(n), database, nil) }
}

func (u users) take(key int, takes time.Duration, err error) {
	go u.Take(key, func() (int, error) {
		time.Sleep(takes)
		return key, err
	})
}

// takeWithin is take by a caller with a time-out, with a database that does not answer.
func (u users) takeWithin(d time.Duration, key int, answer chan struct{}) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		_, _ = u.TakeCtx(ctx, key, func(context.Context) (int, error) { <-answer; return key, nil })
	}()
}

// useWheel sets timers of a wheel for an hour.
func (s *service) useWheel(execute func(int)) {
	w, err := timingwheel.New(100*time.Millisecond, 512, func(key, _ int) { execute(key) },
		timingwheel.WithOnPanic(func(any, []byte) {}))
	s.do(err)
	s.t.Cleanup(func() { s.do(w.Shutdown(context.Background())) })
	next := 0
	s.trouble(time.Hour, func() { next++; s.do(w.SetTimer(next, next, time.Second)) })
}

func (s *service) do(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// serve makes twenty requests a second for a time.
func (s *service) serve(d time.Duration, request func()) {
	const every = 50 * time.Millisecond
	interval := time.Minute
	if s.troubled > 0 {
		interval = 15 * time.Second
	}
	for n := range d / every {
		request()
		time.Sleep(every)
		if (n+1)%(interval/every) == 0 {
			s.scrape(interval)
		}
	}
}

// trouble is serve during the trouble.
func (s *service) trouble(d time.Duration, request func()) {
	s.troubled = max(1, time.Since(s.began))
	s.serve(d, request)
}

// ofProcess are the lines about the process, which in fake time has other numbers.
var ofProcess = regexp.MustCompile(`(?m)^(# \w+ )?pinwheel_process_.*\n`)

func (s *service) scrape(interval time.Duration) {
	text := "# TYPE up gauge\nup 0\n"
	if !s.stopped {
		w := httptest.NewRecorder()
		stats.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics"+s.query, nil))
		at := time.Since(s.began).Seconds()
		s.collected += s.collecting * interval.Seconds()
		text = ofProcess.ReplaceAllString(w.Body.String(), "") + fmt.Sprintf(`# TYPE up gauge
up 1
# TYPE pinwheel_process_heap_bytes gauge
pinwheel_process_heap_bytes %v
# TYPE pinwheel_process_memory_limit_bytes gauge
pinwheel_process_memory_limit_bytes %v
# TYPE pinwheel_process_collector_seconds_total counter
pinwheel_process_collector_seconds_total %v
# TYPE pinwheel_process_cpu_available_seconds_total counter
pinwheel_process_cpu_available_seconds_total %v
# TYPE pinwheel_process_stops_total counter
pinwheel_process_stops_total %v
`, s.heap, 1000<<20, s.collected, at, s.stops)
	}
	s.scrapes = append(s.scrapes, scrape{time.Since(s.began), parsed(s.t, text)})
}

// parsed returns the metrics of a scrape.
func parsed(t *testing.T, text string) map[string]*dto.MetricFamily {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Error(err)
	}
	return families
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
