package main

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
)

func TestUsers(t *testing.T) {
	r := start(t, nil)
	r.want("GET", "/users/1", "", 200,
		`{"id":1,"name":"Barbara Brook","email":"barbara.brook.1@example.com","city":"Bergen"}`)

	ada := `{"id":1,"name":"Ada","email":"ada@example.com","city":"London"}`
	r.want("PUT", "/users/1", `{"name":"Ada","email":"ada@example.com","city":"London"}`, 200, ada)
	r.want("GET", "/users/1", "", 200, ada)
	r.want("PUT", "/users/1", ada, 200, ada) // what GET gave can be sent back

	r.want("DELETE", "/users/1", "", 204, "")
	r.want("GET", "/users/1", "", 404, `{"error":"there is no user 1"}`)
	r.want("DELETE", "/users/1", "", 404, `{"error":"there is no user 1"}`)
	r.want("PUT", "/users/1", ada, 200, ada) // and a new one can be made
	r.want("GET", "/users/1", "", 200, ada)
	if s := r.stats("users"); s.Hits != 2 || s.Misses != 2 {
		t.Errorf("the first GET and the one after DELETE miss, those after PUT hit: %+v", s)
	}
}

// That there is no such user is remembered, and is no failure; as soon as there is one,
// everybody sees it.
func TestMissingUser(t *testing.T) {
	r := start(t, func(c *config.Config) { c.Users.NotFoundExpire = time.Hour })
	for range 3 {
		r.want("GET", "/users/20000", "", 404, `{"error":"there is no user 20000"}`)
	}
	if got := r.stats("users"); got.Entries != 0 || got.Negatives != 1 || got.Loads.OK != 1 || got.Loads.Failed != 0 || got.Hits != 0 {
		t.Errorf("three requests for a missing user: %+v", got)
	}
	r.do("PUT", "/users/20000", `{"name":"Ada","email":"","city":""}`)
	if code, body := r.do("GET", "/users/20000", ""); code != 200 {
		t.Errorf("after it was made: %d %s", code, body)
	}
	if got := r.stats("users"); got.Negatives != 0 {
		t.Errorf("after it was made: %+v", got)
	}
}
