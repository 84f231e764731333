package main

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
)

func TestSessions(t *testing.T) {
	r := start(t, nil)
	r.want("POST", "/sessions/me/beat", "", 200, `{"id":"me","created":true,"timeout":"30s"}`)
	r.want("POST", "/sessions/me/beat", "", 200, `{"id":"me","created":false,"timeout":"30s"}`)
	r.do("POST", "/sessions/you/beat", "")
	if got := r.stats("sessions"); got.Entries != 2 || got.Hits != 1 || got.Misses != 2 {
		t.Errorf("one beat of three was of a session that was alive: %+v", got)
	}
}

// A session that gets no beat is reported, once. One that does is not, though it
// is older than the timeout.
func TestSilentSessionIsReportedOnce(t *testing.T) {
	const timeout = time.Second
	r := start(t, func(c *config.Config) { c.Sessions.Expire = timeout })
	begin := time.Now()
	r.do("POST", "/sessions/silent/beat", "")
	beat, longest := begin, time.Duration(0)
	eventually(t, "the silent session is reported", func() bool {
		r.do("POST", "/sessions/alive/beat", "")
		longest, beat = max(longest, time.Since(beat)), time.Now()
		return r.silent("silent") > 0
	})
	if took := time.Since(begin); took < timeout {
		t.Errorf("reported after %v, before the timeout of %v", took, timeout)
	}
	// On a machine that stood still for a while, it is the test that was silent.
	if n := r.silent("alive"); n != 0 && longest < timeout/2 {
		t.Errorf("a session with a beat every %v was reported %d times", longest, n)
	}
	r.stop() // waits for all callbacks
	if n := r.silent("silent"); n != 1 {
		t.Errorf("the silent session was reported %d times", n)
	}
}

// silent returns how often a session was reported as silent.
func (r *running) silent(id string) int { return r.logs.lines(`session %q went silent`, id) }
