package alerts

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
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
	troubled time.Duration // when the trouble began
	scrapes  []scrape
}

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
	s.serve(time.Hour, func() { next++; s.do(w.SetTimer(next, next, time.Second)) })
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

// trouble is serve during the trouble.
func (s *service) trouble(d time.Duration, request func()) {
	s.troubled = time.Since(s.began)
	s.serve(d, request)
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
