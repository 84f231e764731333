package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestBadRequests checks that every error of a request is JSON that says what to do.
func TestBadRequests(t *testing.T) {
	r := start(t, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/users/abc", "", 400, "id"},
		{"GET", "/users/0", "", 400, "positive number, not 0"},
		{"GET", "/users/9223372036854775808", "", 400, "out of range"},
		{"PUT", "/users/1", ``, 400, "name"},
		{"PUT", "/users/1", `{"name":"Ada"`, 400, "unexpected EOF"},
		{"PUT", "/users/0", `{"name":"Ada","email":"","city":""}`, 400, "positive number, not 0"},
		{"PUT", "/users/1", `{"name":" ","email":"","city":""}`, 400, "name is missing"},
		{"POST", "/sessions/%20/beat", "", 400, "1 to 64 bytes"},
		{"POST", "/sessions/" + strings.Repeat("x", 65) + "/beat", "", 400, "1 to 64 bytes"},
	} {
		code, body := r.do(c.method, c.path, c.body)
		var answer map[string]string
		err := json.Unmarshal([]byte(body), &answer)
		if code != c.status || err != nil || len(answer) != 1 || !strings.Contains(answer["error"], c.says) {
			t.Errorf("%s %s %.40s:\n got %d %s\nwant %d {\"error\":\"... %s ...\"}",
				c.method, c.path, c.body, code, body, c.status, c.says)
		}
	}
	if got := r.stats("users"); got.Entries != 0 {
		t.Errorf("something of that was cached: %+v", got)
	}
}

// TestInternalError checks that failures of the service are logged, without details for the
// client.
func TestInternalError(t *testing.T) {
	r := start(t, nil)
	settle.Must(t, r.svcCtx.Store.Close())
	r.want("GET", "/users/1", "", 500, `{"error":"internal error"}`)
	if r.logs.lines("database not open") != 1 {
		t.Errorf("the log has no line about the database")
	}
}
