package main

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page is found with and without the slash, and so is all it refers to.
func TestStatisticsPage(t *testing.T) {
	r := start(t, nil)
	resp, err := http.Get(r.url + "/cache")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := resp.Request.URL.Path; got != "/cache/" {
		t.Errorf("/cache leads to %s", got)
	}
	code, page := r.do("GET", "/cache/", "")
	if code != 200 || !strings.Contains(page, "users") || !strings.Contains(page, "sessions") {
		t.Errorf("the page: %d\n%s", code, page)
	}
	links := regexp.MustCompile(`(?:href|src)="([^":]+)"`).FindAllStringSubmatch(page, -1)
	if len(links) == 0 {
		t.Errorf("the page has no links:\n%s", page)
	}
	for _, link := range links {
		if code, _ := r.do("GET", "/cache/"+link[1], ""); code != 200 {
			t.Errorf("the page refers to %s: %d", link[1], code)
		}
	}
}

func TestIndexListsWhatToTry(t *testing.T) {
	r := start(t, nil)
	code, body := r.do("GET", "/", "")
	if code != 200 || !strings.Contains(body, "curl "+r.url+"/users/1\n") {
		t.Errorf("GET /: %d\n%s", code, body)
	}
}

// service.api is the description that goctl works from: it lists the routes that
// the service has.
func TestRoutesAreThoseOfTheDescription(t *testing.T) {
	api, err := os.ReadFile("service.api")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	prefix := ""
	for line := range strings.Lines(string(api)) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "prefix: "); ok {
			prefix = p
		}
		if m := regexp.MustCompile(`^\t(get|put|post|delete) (/\S*)`).FindStringSubmatch(line); m != nil {
			want = append(want, strings.ToUpper(m[1])+" "+strings.TrimSuffix(prefix+m[2], "/"))
		}
	}
	var got []string
	for _, route := range start(t, nil).server.Routes() {
		got = append(got, route.Method+" "+strings.TrimSuffix(route.Path, "/"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the service has\n%q\nand service.api\n%q", got, want)
	}
}
