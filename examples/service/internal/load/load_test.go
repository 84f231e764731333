package load

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestRate(t *testing.T) {
	for s, want := range map[string]Rate{"500/s": 500, "500": 500, "0": 0, "0/s": 0, "100000/s": 100000} {
		var r Rate
		if err := r.Set(s); err != nil || r != want {
			t.Errorf("%q: %v, %v; want %v", s, r, err, want)
		}
	}
	for _, s := range []string{"", "/s", "fast", "-1", "1.5/s", "500/m", "100001"} {
		r := Rate(7)
		if err := r.Set(s); err == nil || r != 7 {
			t.Errorf("%q was taken for %v", s, r)
		}
	}
}

// config returns the Config of a load on a service that only counts.
func config(t *testing.T, answer func(*http.Request) int) (Config, *bytes.Buffer) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(answer(r))
	}))
	t.Cleanup(web.Close)
	var out bytes.Buffer
	return Config{
		Target: web.URL, Rate: 2000, Users: 100, Guests: 10, Stop: 500,
		Out: &out, Stats: func() stats.Snapshot { return stats.Snapshot{} },
	}, &out
}

// TestMostRequestsReadAndFewWrite also checks that 500 requests at 2000 a second take a quarter of a
// second, and not much less.
func TestMostRequestsReadAndFewWrite(t *testing.T) {
	var mu sync.Mutex
	count := map[string]int{}
	c, _ := config(t, func(r *http.Request) int {
		mu.Lock()
		defer mu.Unlock()
		count[r.Method]++
		return http.StatusOK
	})
	begin := time.Now()
	requests, failed := Run(context.Background(), c)
	if took := time.Since(begin); requests != 500 || failed != 0 || took < 200*time.Millisecond {
		t.Errorf("%d requests, %d failed, in %v", requests, failed, took)
	}
	if gets := count["GET"]; gets < 400 || gets+count["PUT"]+count["POST"]+count["DELETE"] != 500 ||
		count["PUT"] == 0 || count["POST"] == 0 {
		t.Errorf("requests by method: %v", count)
	}
}

func TestFailuresAreCountedAndReported(t *testing.T) {
	c, out := config(t, func(*http.Request) int { return http.StatusInternalServerError })
	c.Every = 10 * time.Millisecond
	if requests, failed := Run(context.Background(), c); failed != requests {
		t.Errorf("%d of %d failed", failed, requests)
	}
	if !strings.Contains(out.String(), "500 Internal Server Error") {
		t.Errorf("the report does not say what failed:\n%s", out)
	}
}

// TestSlowService checks that with a slow service the number of requests under way is bounded,
// and that a load that stops waits for them.
func TestSlowService(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	full, release := make(chan struct{}), make(chan struct{})
	c, _ := config(t, func(*http.Request) int {
		mu.Lock()
		now++
		most = max(most, now)
		if now == workers {
			close(full)
		}
		mu.Unlock()
		<-release
		mu.Lock()
		defer mu.Unlock()
		now--
		return http.StatusOK
	})
	c.Stop = 0
	ctx, stop := context.WithCancel(context.Background())
	var requests, failed int
	var wg sync.WaitGroup
	wg.Go(func() { requests, failed = Run(ctx, c) })
	<-full
	stop()
	close(release)
	wg.Wait()
	if most != workers || requests < workers || failed != 0 {
		t.Errorf("%d at once, %d requests, %d failed; want %d at once and no failure", most, requests, failed, workers)
	}
}
