package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
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
}

// What the cache answers and what the database holds are the same thing.
func TestWritesReachTheDatabase(t *testing.T) {
	r := start(t, nil)
	r.do("PUT", "/users/7", `{"name":"Ada","email":"","city":""}`)
	r.do("DELETE", "/users/8", "")
	if u, err := r.svcCtx.Store.Get(t.Context(), 7); err != nil || u.Name != "Ada" {
		t.Errorf("user 7 in the database: %+v, %v", u, err)
	}
	if _, err := r.svcCtx.Store.Get(t.Context(), 8); err != model.ErrNotFound {
		t.Errorf("user 8 in the database: %v, want %v", err, model.ErrNotFound)
	}
}

func TestStatisticsCountWhatWasAsked(t *testing.T) {
	r := start(t, nil)
	for range 4 {
		r.do("GET", "/users/1", "")
	}
	r.do("GET", "/users/123456", "") // the database has no such user, which is an answer
	r.do("PUT", "/users/2", `{"name":"Ada","email":"","city":""}`)
	r.do("GET", "/users/2", "")

	got := r.stats("users")
	want := cacheStats{Name: "users", Hits: 4, Misses: 2, HitRatio: 4.0 / 6, Entries: 2, Limit: 1000}
	want.Loads.OK, want.Negatives = 2, 1
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	r.do("DELETE", "/users/2", "")
	if got := r.stats("users"); got.Entries != 1 || got.Removals.Deleted != 1 {
		t.Errorf("after DELETE: %+v", got)
	}
	_, metrics := r.do("GET", "/cache/metrics", "")
	for _, line := range []string{
		`cache_gets_total{cache="users",result="hit"} 4`,
		`cache_gets_total{cache="users",result="miss"} 2`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("no line %q in the metrics:\n%s", line, metrics)
		}
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

func TestTheCacheStaysWithinItsLimit(t *testing.T) {
	r := start(t, func(c *config.Config) { c.Users.Limit = 10 })
	for id := range 50 {
		r.do("GET", fmt.Sprintf("/users/%d", id+1), "")
	}
	if got := r.stats("users"); got.Entries != 10 || got.Limit != 10 || got.Removals.Evicted != 40 {
		t.Errorf("with a limit of 10 after 50 users: %+v", got)
	}
}
