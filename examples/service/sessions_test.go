package main

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

func TestSessions(t *testing.T) {
	r := start(t, nil)
	r.want("GET", "/sessions", "", 200, `{"count":0,"sessions":[]}`)
	r.want("POST", "/sessions/me/beat", "", 200, `{"id":"me","created":true,"timeout":"30s"}`)
	r.want("POST", "/sessions/me/beat", "", 200, `{"id":"me","created":false,"timeout":"30s"}`)
	r.do("POST", "/sessions/you/beat", "")

	var list types.SessionsResp
	r.getJSON("/sessions", &list)
	if list.Count != 2 || len(list.Sessions) != 2 {
		t.Errorf("two sessions: %+v", list)
	}
	for _, s := range list.Sessions {
		since, err := time.Parse(time.RFC3339, s.Since)
		if err != nil || time.Since(since) > patience {
			t.Errorf("session %s since %s: %v", s.ID, s.Since, err)
		}
	}
	if got := r.stats("sessions"); got.Hits != 1 || got.Misses != 2 {
		t.Errorf("one beat of three was of a session that was alive: %+v", got)
	}
	r.want("DELETE", "/sessions/me", "", 204, "")
	r.want("POST", "/sessions/me/beat", "", 200, `{"id":"me","created":true,"timeout":"30s"}`)
}

// A session that gets no beat is reported, once. One that does is not, though it
// is older than the timeout; nor is one that was logged out.
func TestSilentSessionIsReportedOnce(t *testing.T) {
	const timeout = time.Second
	r := start(t, func(c *config.Config) { c.Sessions.Expire = timeout })
	begin := time.Now()
	r.do("POST", "/sessions/silent/beat", "")
	r.do("POST", "/sessions/ended/beat", "")
	r.do("DELETE", "/sessions/ended", "")

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
	if n := r.silent("ended"); n != 0 {
		t.Errorf("a session that was logged out was reported %d times", n)
	}
}

// silent returns how often a session was reported as silent.
func (r *running) silent(id string) int { return r.logs.lines(`session %q went silent`, id) }
