//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOutage runs the program with -outage: the database hangs and fails, values past their
// deadline stand in, and no request fails.
func TestOutage(t *testing.T) {
	p := launch(t, built(t), "-port", "0", "-db", filepath.Join(t.TempDir(), "users.db"), "-load", "300/s", "-outage", "2s")
	r := &running{t: t, url: p.url()}
	for _, phase := range []string{"hangs", "works", "fails", "works"} {
		before := r.stats("users")
		eventually(t, "the database "+phase, func() bool {
			turns := strings.Split(p.out.String(), "the database ")
			return strings.HasPrefix(turns[len(turns)-1], phase+" for 2s")
		})
		if phase == "works" {
			eventually(t, "values are loaded anew", func() bool { return r.stats("users").Loads.OK > before.Loads.OK+10 })
			continue
		}
		eventually(t, "values stand in, and loads fail", func() bool {
			now := r.stats("users")
			return now.HitsInGrace > before.HitsInGrace+50 && now.Loads.Failed > before.Loads.Failed
		})
		r.want("GET", "/users/9999", "", 200, `{"id":9999,"name":"Dennis Eriksen","email":"dennis.eriksen.9999@example.com","city":"Dublin"}`)
	}
	if s := r.stats("users"); s.Misses > 0 {
		t.Errorf("some requests waited for the database: %+v", s)
	}
	eventually(t, "the load says what happened", func() bool { return strings.Contains(p.out.String(), "of the hits in grace") })
	p.stop(syscall.SIGTERM)
	for line := range strings.Lines(p.out.String()) {
		if strings.Contains(line, "  load: ") && strings.Contains(line, "failed") {
			t.Errorf("users notice: %s", line)
		}
	}
}

func TestOutageFlag(t *testing.T) {
	for s, want := range map[string]time.Duration{"1s": time.Second, "20s": 20 * time.Second, "1m": time.Minute,
		"20": 0, "0s": 0, "999ms": 0, "-20s": 0, "": 0} {
		var o options
		if err := o.setOutage(s); o.outage != want || (err == nil) != (want > 0) {
			t.Errorf("-outage %q: %v, %v", s, o.outage, err)
		}
	}
	c, err := (&options{port: -1, outage: 20 * time.Second}).config()
	if err != nil || c.Users.Limit < 10_000 || c.Users.Expire >= 20*time.Second || c.Users.Grace < time.Hour {
		t.Errorf("the settings for outages of 20s: %+v, %v", c.Users, err)
	}
}
