package stats_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// FuzzHandler sends any request, some of them authorized to purge.
func FuzzHandler(f *testing.F) {
	const form = "application/x-www-form-urlencoded"
	f.Add("GET", "/cache/stats.json", "points=61", "", "", "", false)
	f.Add("POST", "/cache/purge", "", form, "cache=users&key=1", "Sec-Fetch-Site: same-origin", true)
	f.Add("POST", "/cache/purge", "", form, "cache=users&all=1", "Origin: https://evil.example", true)
	f.Add("", "", "", "", "", "", false)
	f.Add("GET", "/./page.js", "", "", "", "", false)
	f.Add("GET", "/../../metrics", "", "", "", "", false)
	f.Add("GET", "/%22><script>/", "x=/y", "", "", "", false)
	f.Add("GET", "/stats.json", "points=%zz;&points=9223372036854775808", "", "", "", false)
	f.Add("POST", "/purge", "", form+"; charset=%%", "cache=users&all=1&%zz", "", true)
	f.Add("POST", "/purge", "", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"cache\"\r\n\r\nusers\r\n--x--", "", true)
	f.Add("POST", "/purge", "", form, "cache=%3C%2Fscript%3E%22%0A&key=%FF%00", "Origin: http://example.com", true)

	var r stats.Registry
	var removed int
	users := sources.Cache[stats.Snapshot]{
		Name: "users", Snapshot: always(distinct(0)),
		HotKeys: func() []sources.HotKey { return []sources.HotKey{{Key: "\xff<", Share: 1}} },
		Purge: func(key string) (int, error) {
			if key == "" {
				return 0, errors.New("want a key")
			}
			removed++
			return 1, nil
		},
		PurgeAll: func() int { removed++; return 1 },
	}
	r.Add(users)
	odd := users
	odd.Name, odd.Snapshot = "</script>\"\n", always(stats.Snapshot{})
	r.Add(odd)
	r.RegisterWheel("users", always(distinctWheel(0)))
	var allowed bool
	h := r.Handler(stats.WithOperators(func(*http.Request) error {
		if !allowed {
			return errors.New("not you")
		}
		return nil
	}))
	f.Fuzz(func(t *testing.T, method, path, query, contentType, body, headers string, authorized bool) {
		removed, allowed = 0, authorized
		request := &http.Request{
			Method:     method,
			URL:        &url.URL{Path: path, RawQuery: query},
			RequestURI: path + "?" + query,
			Host:       "example.com",
			Header:     http.Header{"Content-Type": {contentType}},
			Body:       io.NopCloser(strings.NewReader(body)),
		}
		for line := range strings.SplitSeq(headers, "\n") {
			name, value, _ := strings.Cut(line, ":")
			request.Header.Set(name, strings.TrimSpace(value))
		}
		w := answered(h, request)

		checkSafe(t, path, w.Header())
		switch w.Code {
		case 200, 400, 403, 404, 405, 413, 415:
		default:
			t.Errorf("status %d", w.Code)
		}
		site := request.Header.Get("Sec-Fetch-Site")
		if removed > 0 && (method != http.MethodPost || !strings.HasSuffix(path, "purge") || !authorized || site == "cross-site" || site == "same-site") {
			t.Errorf("%s %q removed something, authorized: %v", method, path, authorized)
		}
		if removed > 1 || removed == 1 && w.Code != http.StatusOK {
			t.Errorf("status %d and %d removals", w.Code, removed)
		}
		text := unzipped(t, w)
		switch last := path[strings.LastIndex(path, "/")+1:]; {
		case last == "purge":
			answerOf(t, w)
		case w.Code != http.StatusOK:
		case method == http.MethodHead:
			if text != "" {
				t.Errorf("HEAD has the body %q", text)
			}
		case method != http.MethodGet:
			t.Errorf("%s %q is answered", method, path)
		case last == "stats.json":
			if !json.Valid([]byte(text)) {
				t.Errorf("not JSON: %s", text)
			}
		case last == "" && strings.Count(text, "<script") != 1:
			t.Errorf("the page is %s", text)
		}
	})
}
