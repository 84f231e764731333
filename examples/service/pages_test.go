package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// The page has what etc/service.yaml asks for.
func TestStatisticsAreThoseOfTheSettings(t *testing.T) {
	r := start(t, func(c *config.Config) { c.Users.Limit = 10 })
	for id := range 50 {
		r.do("GET", fmt.Sprintf("/users/%d", id+1), "") // some are evicted, and have an age
	}
	r.do("POST", "/sessions/me/beat", "")
	var all struct {
		Purge  bool
		Caches []struct {
			Name       string
			Entries    int
			WhatIf     any                    `json:"what_if"`
			EvictedAge any                    `json:"evicted_age"`
			HotKeys    []struct{ Key string } `json:"hot_keys"`
		}
	}
	r.getJSON("/cache/stats.json", &all)
	if !all.Purge || len(all.Caches) != 2 || all.Caches[0].Name != "sessions" || all.Caches[1].Name != "users" {
		t.Fatalf("stats.json: %+v", all)
	}
	if users := all.Caches[1]; users.WhatIf == nil || users.EvictedAge == nil || users.Entries != 10 {
		t.Errorf("users: %+v", users)
	}
	eventually(t, "a user that is asked for is a hot key", func() bool { // of all requests a part is looked at
		r.do("GET", "/users/7", "")
		r.getJSON("/cache/stats.json", &all)
		return len(all.Caches[1].HotKeys) > 0 && all.Caches[1].HotKeys[0].Key == "7"
	})
	_, metrics := r.do("GET", "/cache/metrics", "")
	if !strings.Contains(metrics, `cache_size{cache="sessions"} 1`+"\n") {
		t.Errorf("no size of the sessions in the metrics:\n%s", metrics)
	}
}

func TestPurge(t *testing.T) {
	r := start(t, nil)
	purge := func(from, host string, header ...string) (int, string) {
		req := httptest.NewRequest("POST", "/cache/purge", strings.NewReader("cache=users&key=1"))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.RemoteAddr, req.Host = from, host
		for _, name := range header {
			req.Header.Set(name, "8.8.8.8")
		}
		w := httptest.NewRecorder()
		r.serve(w, req)
		return w.Code, strings.TrimSpace(w.Body.String())
	}
	const here = "127.0.0.1:1234"
	for _, from := range []string{"192.0.2.1:1234", "[2001:db8::1]:1234", "", "127.0.0.1"} {
		r.do("GET", "/users/1", "")
		if code, body := purge(from, here); code != 403 || !strings.Contains(body, "only from the machine") || r.stats("users").Entries != 1 {
			t.Errorf("from %q: %d %s", from, code, body)
		}
	}
	for _, host := range []string{"example.com", "example.com:8888", "localhost.example.com", ""} {
		if code, _ := purge(here, host); code != 403 {
			t.Errorf("by the name %q, which can lead anywhere: %d", host, code)
		}
	}
	for _, header := range []string{"Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host"} {
		if code, body := purge(here, here, header); code != 403 || !strings.Contains(body, "proxy") {
			t.Errorf("by a proxy that adds %s: %d %s", header, code, body)
		}
	}
	for _, from := range []string{here, "[::1]:1234"} {
		r.do("GET", "/users/1", "")
		if code, body := purge(from, "localhost:8888"); code != 200 || body != `{"removed":1}` || r.stats("users").Entries != 0 {
			t.Errorf("from %q: %d %s", from, code, body)
		}
	}
}

// The minute lines of package gozero, whose tests read them, come through.
func TestStatLinesAreLogged(t *testing.T) {
	r := start(t, nil)
	logx.Statf("cache(%s) - qpm: 1", "users")
	if r.logs.lines("cache(users) - qpm: 1") != 1 {
		t.Error("the settings have no lines of the level stat")
	}
}

// service.api is the description that goctl works from: it lists the routes that
// the service has, in a comment those that are not goctl's.
func TestRoutesAreThoseOfTheDescription(t *testing.T) {
	api, err := os.ReadFile("service.api")
	settle.Must(t, err)
	var want []string
	for line := range strings.Lines(string(api)) {
		if m := regexp.MustCompile(`^(?:\t|// )(get|head|put|post|delete) (/\S*)`).FindStringSubmatch(line); m != nil {
			want = append(want, strings.ToUpper(m[1])+" "+m[2])
		}
	}
	var got []string
	for _, route := range start(t, nil).server.Routes() {
		got = append(got, route.Method+" "+route.Path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the service has\n%q\nand service.api\n%q", got, want)
	}
}
