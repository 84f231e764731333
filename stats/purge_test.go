package stats_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A purgeable cache has numbers as keys.
type purgeable map[int]bool

func newPurgeable(keys ...int) purgeable {
	c := purgeable{}
	for _, key := range keys {
		c[key] = true
	}
	return c
}

func (c purgeable) remove(chosen func(key int) bool) (removed int) {
	before := len(c)
	maps.DeleteFunc(c, func(key int, _ bool) bool { return chosen(key) })
	return before - len(c)
}

func (c purgeable) purge(text string) (removed int, err error) {
	wanted, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("key %q: want an int", text)
	}
	return c.remove(func(key int) bool { return key == wanted }), nil
}

func (c purgeable) purgePrefix(prefix string) (removed int) {
	return c.remove(func(key int) bool { return strings.HasPrefix(strconv.Itoa(key), prefix) })
}

func (c purgeable) purgeAll() int { return c.remove(func(int) bool { return true }) }

func (c purgeable) register(r *stats.Registry, name string) {
	r.Add(sources.Cache[stats.Snapshot]{Name: name, Snapshot: always(stats.Snapshot{}), Purge: c.purge, PurgePrefix: c.purgePrefix, PurgeAll: c.purgeAll})
}

// TestPurgeOfTheFleet checks that fleet=1 asks the near cache, and is refused for others.
func TestPurgeOfTheFleet(t *testing.T) {
	var r stats.Registry
	newPurgeable(1).register(&r, "plain")
	users := newPurgeable(1, 2, 3)
	var asked []string
	var failure error
	r.Add(sources.Cache[stats.Snapshot]{
		Name: "near", Snapshot: always(stats.Snapshot{Near: stats.Near{MaxLag: 1}}), Purge: users.purge, PurgePrefix: users.purgePrefix, PurgeAll: users.purgeAll,
		PurgeFleet: func() sources.PurgeFleet {
			return func(_ context.Context, text string, prefix bool) (int, error) {
				asked = append(asked, fmt.Sprint(text, prefix))
				return 70, failure
			}
		},
	})
	h := r.Handler(stats.WithOperators(anybody))
	for _, body := range []string{"key=2", "prefix=3", "all=1"} {
		w := purge{body: "cache=near&fleet=1&" + body}.send(h)
		if removed, refused := answerOf(t, w); removed != 70 || strings.Contains(w.Body.String(), "note") {
			t.Errorf("%s: %d, %s", body, removed, refused)
		}
	}
	if want := []string{"2false", "3true", "true"}; !slices.Equal(asked, want) || len(users) > 0 {
		t.Errorf("asked for %q, want %q; %v are left", asked, want, users)
	}
	for _, bad := range []string{"cache=near&fleet=2&all=1", "cache=near&fleet=1&key=x", "cache=plain&fleet=1&all=1"} {
		if _, refused := answerOf(t, purge{body: bad}.send(h)); refused == "" || len(asked) > 3 {
			t.Errorf("%s: asked for %q, refused: %s", bad, asked, refused)
		}
	}
	failure = errors.New("the store is away")
	if w := (purge{body: "cache=near&fleet=1&all=1"}).send(h); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), failure.Error()) {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

// anybody authorizes every request.
func anybody(*http.Request) error { return nil }

// A purge is a request to purge, as a program would send it.
type purge struct {
	method, target, body string
	header               map[string]string
}

func (p purge) request() *http.Request {
	r := httptest.NewRequest(cmp.Or(p.method, http.MethodPost), cmp.Or(p.target, "/cache/purge"), strings.NewReader(p.body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range p.header {
		r.Header.Set(name, value)
	}
	return r
}

func (p purge) send(h http.Handler) *httptest.ResponseRecorder {
	return answered(h, p.request())
}

// answerOf reads the answer to a purge, which is removed or an error, perhaps a note, and no more.
func answerOf(t testing.TB, w *httptest.ResponseRecorder) (removed int, refused string) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q, want application/json", got)
	}
	checkSafe(t, "purge", w.Header())
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	delete(answer, "note") // see TestPurgeOfANearCacheSaysWhere
	if n, ok := answer["removed"].(float64); ok && len(answer) == 1 && w.Code == http.StatusOK {
		return int(n), ""
	}
	text, ok := answer["error"].(string)
	if !ok || text == "" || len(answer) != 1 || w.Code < 400 || w.Code > 499 {
		t.Errorf("status %d and %s, want what was removed or an error", w.Code, w.Body)
	}
	return 0, text
}

func TestPurge(t *testing.T) {
	var r stats.Registry
	users, orders := newPurgeable(1, 2, 3, -4, 70, 71, 7), newPurgeable(1, 2, 3)
	users.register(&r, "users")
	orders.register(&r, `or"ders & <co>`)
	h := r.Handler(stats.WithOperators(anybody))
	for _, test := range []struct {
		form    url.Values
		removed int
		left    int
	}{
		{url.Values{"cache": {"users"}, "prefix": {"7"}}, 3, 4},
		{url.Values{"cache": {"users"}, "key": {"2"}}, 1, 3},
		{url.Values{"cache": {"users"}, "key": {"2"}}, 0, 3},
		{url.Values{"cache": {"users"}, "key": {"-4"}}, 1, 2},
		{url.Values{"cache": {"users"}, "all": {"1"}}, 2, 0},
		{url.Values{"cache": {"users"}, "all": {"1"}}, 0, 0},
	} {
		removed, refused := answerOf(t, purge{body: test.form.Encode()}.send(h))
		if removed != test.removed || len(users) != test.left || refused != "" {
			t.Errorf("%v: removed %d (%s) and left %d, want %d and %d", test.form, removed, refused, len(users), test.removed, test.left)
		}
	}
	if len(orders) != 3 {
		t.Errorf("the other cache has %d entries, want its 3", len(orders))
	}
	removed, refused := answerOf(t, purge{body: url.Values{"cache": {`or"ders & <co>`}, "key": {"3"}}.Encode()}.send(h))
	if removed != 1 {
		t.Errorf("removed %d (%s) by an odd name, want 1", removed, refused)
	}
	for _, header := range []map[string]string{ // of a browser on the page
		{"Sec-Fetch-Site": "same-origin", "Origin": "http://example.com"},
		{"Sec-Fetch-Site": "same-origin", "Origin": "https://before.the.proxy"},
		{"Sec-Fetch-Site": "none"},
		{"Origin": "http://example.com"},
	} {
		users[1] = true
		if removed, text := answerOf(t, purge{body: "cache=users&key=1", header: header}.send(h)); removed != 1 {
			t.Errorf("%v: removed %d (%s), want 1", header, removed, text)
		}
	}
	// The key is the text as sent.
	var got []string
	r.Add(sources.Cache[stats.Snapshot]{Name: "texts", Snapshot: always(stats.Snapshot{}), Purge: func(key string) (int, error) {
		got = append(got, key)
		return 1, nil
	}})
	texts := []string{"", " ", "a=b&c", "ü%20", "\xff", "\x00", strings.Repeat("k", 10_000)}
	for _, key := range texts {
		answerOf(t, purge{body: url.Values{"cache": {"texts"}, "key": {key}}.Encode()}.send(h))
	}
	if !slices.Equal(got, texts) {
		t.Errorf("purged %q, want %q", got, texts)
	}
}

// TestPurgeRefuses checks that a refused request removes nothing.
func TestPurgeRefuses(t *testing.T) {
	form := "cache=users&key=1"
	for _, test := range []struct {
		name   string
		purge  purge
		status int
		text   string // in the error
	}{
		{"no fields", purge{}, 400, "want the fields"},
		{"no cache", purge{body: "key=1"}, 400, "want the fields"},
		{"cache only", purge{body: "cache=users"}, 400, "want the fields"},
		{"key and all", purge{body: form + "&all=1"}, 400, "want the fields"},
		{"all is not 1", purge{body: "cache=users&all=true"}, 400, "want the fields"},
		{"two caches", purge{body: form + "&cache=orders"}, 400, "want the fields"},
		{"key and prefix", purge{body: form + "&prefix=1"}, 400, "want the fields"},
		{"two prefixes", purge{body: "cache=users&prefix=1&prefix=2"}, 400, "want the fields"},
		{"empty prefix", purge{body: "cache=users&prefix="}, 400, "prefix is empty"},
		{"no strings", purge{body: "cache=structs&prefix=1"}, 400, "are not strings"},
		{"two keys", purge{body: form + "&key=2"}, 400, "want the fields"},
		{"twice all", purge{body: "cache=users&all=1&all=1"}, 400, "want the fields"},
		{"in the query", purge{target: "/purge?" + form}, 400, "want the fields"},
		{"key in the query", purge{target: "/purge?key=1", body: "cache=users"}, 400, "want the fields"},
		{"all in the query", purge{target: "/purge?all=1", body: "cache=users"}, 400, "want the fields"},
		{"bad escape", purge{body: form + "&x=%zz"}, 400, "cannot read the form"},
		{"semicolon", purge{body: "cache=users;key=1"}, 400, "cannot read the form"},
		{"too large", purge{body: form + "&x=" + strings.Repeat("x", 64<<10)}, 413, "too large: want at most 65536 bytes"},
		{"JSON", purge{body: `{"cache":"users","key":"1"}`, header: map[string]string{"Content-Type": "application/json"}}, 415, "form-encoded: curl"},
		{"plain text", purge{body: form, header: map[string]string{"Content-Type": "text/plain"}}, 415, "form-encoded: curl"},
		{"no such cache", purge{body: "cache=nobody&key=1"}, 404, `no cache "nobody"`},
		{"empty name", purge{body: "cache=&all=1"}, 404, "no cache"},
		{"name of a wheel", purge{body: "cache=wheel&all=1"}, 404, "no cache"},
		{"wrong key", purge{body: "cache=users&key=one"}, 400, `"one": want an int`},
		{"no keys as text", purge{body: "cache=structs&key=1"}, 400, "cannot be written as text"},
		{"no extras, all", purge{body: "cache=plain&all=1"}, 400, "cannot be purged"},
		{"another site", purge{body: form, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403, "cross-origin"},
		{"another subdomain", purge{body: form, header: map[string]string{"Sec-Fetch-Site": "same-site"}}, 403, "cross-origin"},
		{"another origin", purge{body: form, header: map[string]string{"Origin": "https://evil.example"}}, 403, "cross-origin"},
		{"origin null", purge{body: form, header: map[string]string{"Origin": "null"}}, 403, "cross-origin"},
		{"GET", purge{method: "GET", target: "/purge?" + form}, 405, "want POST"},
		{"OPTIONS", purge{method: "OPTIONS", body: form, header: map[string]string{"Origin": "https://evil.example"}}, 405, "want POST"},
		{"small letters", purge{method: "post", body: form}, 405, "want POST"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r stats.Registry
			c := newPurgeable(1, 2)
			c.register(&r, "users")
			c.register(&r, "orders")
			r.Register("plain", always(stats.Snapshot{}))
			r.Add(sources.Cache[stats.Snapshot]{Name: "structs", Snapshot: always(stats.Snapshot{}), PurgeAll: c.purgeAll})
			r.RegisterWheel("wheel", always(stats.WheelSnapshot{}))
			asked := 0
			h := r.Handler(stats.WithOperators(func(*http.Request) error {
				asked++
				return nil
			}))
			w := test.purge.send(h)
			_, refused := answerOf(t, w)
			if w.Code != test.status || !strings.Contains(refused, test.text) {
				t.Errorf("status %d and %q, want %d and %q", w.Code, refused, test.status, test.text)
			}
			if got, want := w.Header().Get("Allow"), map[int]string{405: "POST"}[test.status]; got != want {
				t.Errorf("Allow %q, want %q", got, want)
			}
			want := 1
			if test.status == 403 || test.status == 405 {
				want = 0 // refused before
			}
			if asked != want {
				t.Errorf("authorize is asked %d times, want %d", asked, want)
			}
			if len(c) != 2 {
				t.Errorf("%d entries are left, want 2", len(c))
			}
		})
	}
}

func TestPurgeAsksForEachRequest(t *testing.T) {
	var r stats.Registry
	c := newPurgeable(1, 2)
	c.register(&r, "users")
	var asked []*http.Request
	refused := errors.New(`not <you> "again"`)
	h := r.Handler(stats.WithOperators(func(r *http.Request) error {
		asked = append(asked, r)
		if r.Header.Get("Authorization") != "secret" {
			return refused
		}
		return nil
	}))
	no := purge{body: "cache=users&all=1"}.send(h)
	if _, text := answerOf(t, no); no.Code != http.StatusForbidden || text != refused.Error() {
		t.Errorf("status %d and %q, want 403 and the text of the error", no.Code, text)
	}
	// An unauthorized client does not learn which caches and keys there are.
	for _, form := range []string{"", "cache=nobody&key=1", "cache=users&key=x", "%zz", "cache=users&prefix=1"} {
		if w := (purge{body: form}).send(h); w.Code != http.StatusForbidden {
			t.Errorf("%q: status %d, want 403", form, w.Code)
		}
	}
	if len(c) != 2 {
		t.Errorf("%d entries are left, want 2", len(c))
	}
	asked = nil
	request := purge{body: "cache=users&key=1", header: map[string]string{"Authorization": "secret"}}.request()
	w := answered(h, request)
	if removed, text := answerOf(t, w); removed != 1 {
		t.Errorf("removed %d (%s), want 1", removed, text)
	}
	if len(asked) != 1 || asked[0] != request {
		t.Errorf("asked %d times, want once and for the request", len(asked))
	}
	for target := range files { // no other file calls authorize
		body(t, h, "/"+target)
	}
	if len(asked) != 1 {
		t.Errorf("asked %d times after looks, want once", len(asked))
	}
}

// TestAuthorizeMayReadTheForm checks that authorize may read the form itself.
func TestAuthorizeMayReadTheForm(t *testing.T) {
	var r stats.Registry
	c := newPurgeable(1, 2)
	c.register(&r, "users")
	h := r.Handler(stats.WithOperators(func(r *http.Request) error {
		if r.FormValue("cache") != "users" {
			return errors.New("only users")
		}
		return nil
	}))
	if removed, text := answerOf(t, purge{body: "cache=users&key=1"}.send(h)); removed != 1 {
		t.Errorf("removed %d (%s), want 1", removed, text)
	}
	if w := (purge{body: "cache=users&key=2&x=" + strings.Repeat("x", 64<<10)}).send(h); w.Code == http.StatusOK || len(c) != 1 {
		t.Errorf("status %d with %d entries left, want the large one refused", w.Code, len(c))
	}
}

func TestWithoutPurgeThereIsNone(t *testing.T) {
	var r stats.Registry
	c := newPurgeable(1)
	c.register(&r, "users")
	checkPanics(t, "stats: WithOperators(nil): want a function that says who may purge", func() { stats.WithOperators(nil) })
	without := r.Handler()
	for h, want := range map[http.Handler]string{r.Handler(stats.WithOperators(anybody)): `"purge":true,`, without: `"purge":false,`} {
		if text := body(t, h, "/stats.json"); !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, method := range []string{"GET", "POST", "PUT"} {
		w := purge{method: method, body: "cache=users&all=1"}.send(without)
		if w.Code != http.StatusNotFound || len(c) != 1 {
			t.Errorf("%s: status %d with %d entries left, want 404 and 1", method, w.Code, len(c))
		}
		checkSafe(t, method, w.Header())
	}
}

// Catches: an operator who believes that a value is gone, which the next read brings back.
func TestPurgeOfANearCacheSaysWhere(t *testing.T) {
	var r stats.Registry
	near := stats.Snapshot{Near: stats.Near{MaxLag: 1}}
	for name, s := range map[string]stats.Snapshot{"plain": {}, "near": near} {
		r.Add(sources.Cache[stats.Snapshot]{Name: name, Snapshot: always(s), PurgeAll: func() int { return 3 }})
	}
	h := r.Handler(stats.WithOperators(func(*http.Request) error { return nil }))
	for name, want := range map[string]bool{"plain": false, "near": true} {
		text := purge{body: "cache=" + name + "&all=1"}.send(h).Body.String()
		if got := strings.Contains(text, "the store still has"); got != want || !strings.Contains(text, `"removed":3`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
