package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/rest"
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// patience bounds the wait for what must happen, on however slow a machine.
const patience = time.Minute

// programs is where tests build this program.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "service"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(code int) {
			_ = os.RemoveAll(programs)
			os.Exit(code)
		}),
		// What go-zero starts, when it is imported and for its middlewares.
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/proc.init.1.func1"),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/stat.init.1.func1"),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/executors.(*PeriodicalExecutor).backgroundFlush.func1"),
	)
}

// running is the whole service in this process, on a free port.
type running struct {
	t      *testing.T
	url    string
	svcCtx *svc.ServiceContext
	server *rest.Server
	serve  http.HandlerFunc // for requests that do not come from this machine
	logs   *logs
	stop   func()
}

// start starts the service on a database of its own. edit may change the
// settings, and may be nil.
func start(t *testing.T, edit func(*config.Config)) *running {
	t.Helper()
	o := options{port: -1, database: filepath.Join(t.TempDir(), "users.db")}
	c, err := o.config()
	settle.Must(t, err)
	c.DevServer.Enabled = false // go-zero starts one for a process, and never stops it
	c.Timeout = patience.Milliseconds()
	if edit != nil {
		edit(&c)
	}
	svcCtx, err := svc.NewServiceContext(c)
	settle.Must(t, err)
	server, err := newServer(svcCtx)
	settle.Must(t, err)
	serverless, err := rest.NewServerless(server)
	settle.Must(t, err)
	written := captureLogs(t)
	web := httptest.NewServer(http.HandlerFunc(serverless.Serve))
	stop := sync.OnceFunc(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.Close()
		ctx := context.Background()
		// What package gozero does for a process.
		if err := errors.Join(svcCtx.UserCache.Close(ctx), svcCtx.Sessions.Close(ctx), svcCtx.Close()); err != nil {
			t.Errorf("closing the service: %v", err)
		}
	})
	t.Cleanup(stop)
	return &running{t: t, url: web.URL, svcCtx: svcCtx, server: server, serve: serverless.Serve, logs: written, stop: stop}
}

// do makes a request and returns the status and the body.
func (r *running) do(method, path, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	settle.Must(r.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	settle.Must(r.t, err)
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	settle.Must(r.t, err)
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

// getJSON makes a GET, which must go well, and decodes the answer into v.
func (r *running) getJSON(path string, v any) {
	r.t.Helper()
	code, answer := r.do(http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(answer), v); err != nil || code != http.StatusOK {
		r.t.Fatalf("GET %s: %d, %v in %s", path, code, err, answer)
	}
}

// cacheStats are the statistics of one cache in stats.json, as far as the tests read them.
type cacheStats struct {
	Name     string
	Hits     uint64
	Misses   uint64
	HitRatio float64 `json:"hit_ratio"`
	Restored uint64
	Entries  int
	Loads    struct{ OK, Failed uint64 }

	HitsInGrace uint64 `json:"hits_in_grace"`
	Negatives   int
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

// logs collects what is logged, or what a process writes.
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

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// lines returns how many lines contain text.
func (l *logs) lines(format string, args ...any) (n int) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, fmt.Sprintf(format, args...)) {
			n++
		}
	}
	return n
}
