package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestBadRequests checks that every error of a request is JSON that says what to do.
func TestBadRequests(t *testing.T) {
	r := start(t, nil)
	long := strings.Repeat("x", 201)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/users/abc", "", 400, `not "abc"`},
		{"GET", "/users/0", "", 400, "positive"},
		{"GET", "/users/-1", "", 400, "positive"},
		{"GET", "/users/1.5", "", 400, "positive"},
		{"GET", "/users/9223372036854775808", "", 400, "positive"},
		{"DELETE", "/users/abc", "", 400, "positive"},
		{"PUT", "/users/abc", `{"name":"Ada"}`, 400, "positive"},
		{"GET", "/users/10001", "", 404, "no user 10001"},
		{"DELETE", "/users/10001", "", 404, "no user 10001"},

		{"PUT", "/users/1", ``, 400, "empty"},
		{"PUT", "/users/1", `{"name":"Ada"`, 400, "bad JSON"},
		{"PUT", "/users/1", `name=Ada`, 400, "bad JSON"},
		{"PUT", "/users/1", `["Ada"]`, 400, "must be a JSON object"},
		{"PUT", "/users/1", `{"name":"Ada"} {}`, 400, "more than one"},
		{"PUT", "/users/1", `{"name":5}`, 400, "name has the wrong type"},
		{"PUT", "/users/1", `{"name":"Ada","age":36}`, 400, `unknown field "age"`},
		{"PUT", "/users/1", `null`, 400, "name is missing"},
		{"PUT", "/users/1", `{}`, 400, "name is missing"},
		{"PUT", "/users/1", `{"name":" "}`, 400, "name is missing"},
		{"PUT", "/users/1", `{"name":"` + long + `"}`, 400, "name is longer than 200"},
		{"PUT", "/users/1", `{"name":"Ada","city":"` + long + `"}`, 400, "city is longer than 200"},
		{"PUT", "/users/1", `{"name":"Ada","email":"home"}`, 400, "no @"},
		{"PUT", "/users/1", `{"name":"Ada","id":2}`, 400, "the path is user 1"},
		{"PUT", "/users/1", `{"name":"` + strings.Repeat("x", 1<<21) + `"}`, 400, "longer than 16384 bytes"},

		{"POST", "/sessions/%20/beat", "", 400, "empty"},
		{"POST", "/sessions/" + long + "/beat", "", 400, "longer than 64"},
		{"DELETE", "/sessions/nobody", "", 404, `no session "nobody"`},

		{"POST", "/reminders/me", ``, 400, "empty"},
		{"POST", "/reminders/me", `{}`, 400, "in is missing"},
		{"POST", "/reminders/me", `{"text":"tea"}`, 400, "in is missing"},
		{"POST", "/reminders/me", `{"in":30,"text":"tea"}`, 400, "in has the wrong type"},
		{"POST", "/reminders/me", `{"in":"30","text":"tea"}`, 400, `not "30"`},
		{"POST", "/reminders/me", `{"in":"soon","text":"tea"}`, 400, `not "soon"`},
		{"POST", "/reminders/me", `{"in":"0s","text":"tea"}`, 400, `not "0s"`},
		{"POST", "/reminders/me", `{"in":"-1s","text":"tea"}`, 400, `not "-1s"`},
		{"POST", "/reminders/me", `{"in":"169h","text":"tea"}`, 400, "at most 168h"},
		{"POST", "/reminders/me", `{"in":"1s","text":" "}`, 400, "blank"},
		{"POST", "/reminders/me", `{"in":"1s","text":"` + long + `"}`, 400, "text is longer than 200"},
		{"POST", "/reminders/me", `{"in":"1s","txt":"tea"}`, 400, `unknown field "txt"`},
		{"POST", "/reminders/%20", `{"in":"1s","text":"tea"}`, 400, "id is empty"},
		{"POST", "/reminders/" + long, `{"in":"1s","text":"tea"}`, 400, "longer than 64"},
		{"POST", "/reminders/nobody", `{"in":"1s"}`, 404, "a new one needs a text"},
		{"DELETE", "/reminders/%20", "", 400, "id is empty"},
		{"DELETE", "/reminders/nobody", "", 404, `no reminder "nobody"`},

		{"GET", "/nothing", "", 404, "/nothing"},
		{"GET", "/users", "", 404, "/users"},
		{"GET", "/users/1/friends", "", 404, "/users/1/friends"},
		{"GET", "/cache/nothing/more", "", 404, "/cache/nothing/more"},
		{"POST", "/users/1", "", 405, "only GET, PUT, DELETE"},
		{"GET", "/sessions/me/beat", "", 405, "only POST"},
		{"GET", "/reminders/me", "", 405, "only POST, DELETE"},
		{"PUT", "/sessions", "", 405, "only GET"},
		{"GET", "/cache/nothing", "", 404, "/cache/nothing"},
		{"POST", "/cache/nothing", "", 404, "/cache/nothing"},
		{"DELETE", "/cache/", "", 405, "only GET, HEAD"},
		{"DELETE", "/cache/metrics", "", 405, "not allowed here, only GET, HEAD"},
		{"POST", "/cache/metrics", "", 405, "not allowed here, only GET, HEAD"},
		{"GET", "/cache/purge", "", 405, "not allowed here, only POST"},
		{"DELETE", "/cache/purge", "", 405, "not allowed here, only POST"},
	} {
		code, body := r.do(c.method, c.path, c.body)
		var answer map[string]string
		err := json.Unmarshal([]byte(body), &answer)
		says := strings.Contains(answer["error"], c.says)
		if c.status == 405 {
			says = strings.HasSuffix(answer["error"], c.says) // and no other
		}
		if code != c.status || err != nil || len(answer) != 1 || !says {
			t.Errorf("%s %s %.40s:\n got %d %s\nwant %d {\"error\":\"... %s ...\"}",
				c.method, c.path, c.body, code, body, c.status, c.says)
		}
	}
	if got := r.stats("users"); got.Entries != 0 {
		t.Errorf("something of that was cached: %+v", got)
	}
	if n := r.svcCtx.Reminders.Len(); n != 0 {
		t.Errorf("of that %d are reminders", n)
	}
}

func TestMethodNotAllowedSaysWhatIs(t *testing.T) {
	r := start(t, nil)
	resp, err := http.Post(r.url+"/users/1", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := resp.Header.Get("Allow"); got != "GET, PUT, DELETE" {
		t.Errorf("Allow: %q", got)
	}
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("Content-Type: %q", got)
	}
}

// TestBodyOfAnyKind checks that a body of unknown length, with any content type, is read.
func TestBodyOfAnyKind(t *testing.T) {
	r := start(t, nil)
	for _, contentType := range []string{"", "application/json", "application/x-www-form-urlencoded"} {
		body := io.MultiReader(strings.NewReader(`{"name":`), strings.NewReader(`"Ada"}`)) // no length: chunked
		req, err := http.NewRequest("PUT", r.url+"/users/1", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("Content-Type %q: %s", contentType, resp.Status)
		}
	}
}

// TestInternalError checks that failures of the service are logged, without details for the
// client.
func TestInternalError(t *testing.T) {
	r := start(t, nil)
	if err := r.svcCtx.Store.Close(); err != nil {
		t.Fatal(err)
	}
	r.want("GET", "/users/1", "", 500, `{"error":"internal error"}`)
	if r.logs.lines("database not open") != 1 {
		t.Errorf("the log has no line about the database")
	}
}
