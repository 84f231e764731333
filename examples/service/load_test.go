package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/load"
)

// All requests of the load succeed.
func TestLoad(t *testing.T) {
	const requests = 2000
	r := start(t, func(c *config.Config) { c.Users.Timeout = patience })
	var out bytes.Buffer
	c := loadConfig(r.url, r.svcCtx, options{load: 2000})
	c.Stop, c.Every, c.Out = requests, 100*time.Millisecond, &out

	made, failed := load.Run(context.Background(), c)
	if made != requests || failed != 0 {
		t.Errorf("made %d requests, %d failed; want %d and 0\n%s", made, failed, requests, &out)
	}
	users, sessions := r.stats("users"), r.stats("sessions")
	if gets := users.Hits + users.Misses; gets < requests/2 || gets > requests {
		t.Errorf("%d of %d requests read a user", gets, requests)
	}
	// A tenth of the users gets most requests, so most are hits even at first.
	if users.HitRatio < 0.4 || users.HitRatio > 0.95 {
		t.Errorf("the hit ratio is %v: that is not Zipf's law", users.HitRatio)
	}
	if users.Negatives == 0 || users.Negatives > guests || users.Loads.Failed != 0 {
		t.Errorf("%d guests were missing, and %d loads failed", users.Negatives, users.Loads.Failed)
	}
	if sessions.Entries == 0 || sessions.Entries > 60 {
		t.Errorf("there are %d sessions", sessions.Entries)
	}
	line := regexp.MustCompile(`^[\d:]{8}  load: \d+ requests, \d+/s, hit ratio [\d.]+ %, p50 \S+s, p99 \S+s$`)
	first, _, _ := strings.Cut(out.String(), "\n")
	if !line.MatchString(first) {
		t.Errorf("the report begins with %q", first)
	}
}
