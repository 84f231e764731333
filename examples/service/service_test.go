package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
)

// patience bounds the wait for what must happen, on however slow a machine.
const patience = 20 * time.Second

// running is the whole service in this process, on a free port.
type running struct {
	t      *testing.T
	url    string
	svcCtx *svc.ServiceContext
	server *rest.Server
	logs   *logs
	stop   func()
}

// start starts the service on a database of its own. edit may change the
// settings, and may be nil.
func start(t *testing.T, edit func(*config.Config)) *running {
	t.Helper()
	o := options{port: -1, database: filepath.Join(t.TempDir(), "users.db")}
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(&c)
	}
	svcCtx, err := svc.NewServiceContext(c)
	if err != nil {
		t.Fatal(err)
	}
	server, err := newServer(c, svcCtx)
	if err != nil {
		t.Fatal(err)
	}
	serverless, err := rest.NewServerless(server)
	if err != nil {
		t.Fatal(err)
	}
	written := captureLogs(t)
	web := httptest.NewServer(http.HandlerFunc(serverless.Serve))
	stop := sync.OnceFunc(func() {
		web.Close()
		if err := svcCtx.Close(context.Background()); err != nil {
			t.Errorf("closing the service: %v", err)
		}
	})
	t.Cleanup(stop)
	return &running{t: t, url: web.URL, svcCtx: svcCtx, server: server, logs: written, stop: stop}
}

// do makes a request and returns the status and the body.
func (r *running) do(method, path, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

// want makes a request and checks status and body.
func (r *running) want(method, path, body string, status int, answer string) {
	r.t.Helper()
	code, got := r.do(method, path, body)
	if code != status || strings.TrimSpace(got) != answer {
		r.t.Errorf("%s %s %s:\n got %d %s\nwant %d %s", method, path, body, code, got, status, answer)
	}
}

// getJSON decodes the answer to a GET into v.
func (r *running) getJSON(path string, v any) {
	r.t.Helper()
	code, body := r.do(http.MethodGet, path, "")
	if code != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s", path, code, body)
	}
	if err := json.Unmarshal([]byte(body), v); err != nil {
		r.t.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

// cacheStats are the statistics of one cache, as stats.json has them.
type cacheStats struct {
	Name     string
	Hits     uint64
	Misses   uint64
	HitRatio float64 `json:"hit_ratio"`
	Entries  int
	Limit    int
	Removals struct{ Expired, Evicted, Deleted uint64 }
	Loads    struct{ OK, Failed uint64 }
}

// stats returns the statistics of a cache.
func (r *running) stats(cache string) cacheStats {
	r.t.Helper()
	var all struct{ Caches []cacheStats }
	r.getJSON("/cache/stats.json", &all)
	for _, c := range all.Caches {
		if c.Name == cache {
			return c
		}
	}
	r.t.Fatalf("stats.json has no cache %q: %+v", cache, all)
	return cacheStats{}
}

// eventually fails the test unless ok becomes true in time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// logs collects what is logged.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func captureLogs(t *testing.T) *logs {
	l := &logs{}
	before := logx.Reset()
	logx.SetWriter(logx.NewWriter(l))
	t.Cleanup(func() { logx.SetWriter(before) })
	return l
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// lines returns how many lines contain text.
func (l *logs) lines(format string, args ...any) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, fmt.Sprintf(format, args...)) {
			n++
		}
	}
	return n
}
