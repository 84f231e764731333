//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/service"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// build makes the program once for all tests, in a folder that TestMain removes.
var build = sync.OnceValues(func() (program string, err error) {
	program = filepath.Join(programs, "service")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// built returns the path of the program.
func built(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	program, err := build()
	settle.Must(t, err)
	return program
}

// TestProcess runs the program: it starts with a load, its DevServer has the caches, a second
// process says why it cannot start, and a signal ends it at once and frees its ports and
// files.
func TestProcess(t *testing.T) {
	dir := t.TempDir()
	program, db := built(t), filepath.Join(dir, "users.db")
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		first := launch(t, program, "-port", "0", "-db", db, "-load", "200/s")
		url := first.url()
		address := strings.TrimPrefix(url, "http://")
		_, port, _ := net.SplitHostPort(address)

		first.devServerHasTheCaches()
		refused(t, "-port", program, "-port", port, "-db", filepath.Join(dir, "other.db"))
		refused(t, "-db", program, "-port", "0", "-db", db)

		r := &running{t: t, url: url}
		r.want("GET", "/users/9999", "", 200, `{"id":9999,"name":"Dennis Eriksen","email":"dennis.eriksen.9999@example.com","city":"Dublin"}`)
		eventually(t, "the load makes requests", func() bool { return r.stats("users").Hits > 10 })
		r.do("POST", "/sessions/me/beat", "")

		// Browsers open connections that they do not use. They must not delay the end.
		unused, err := net.Dial("tcp", address)
		settle.Must(t, err)
		first.stop(sig)
		_ = unused.Close()
		http.DefaultClient.CloseIdleConnections()
		first.said(`session "me" was removed with all others`) // OnRemove got it

		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("after %v the port is not free: %v", sig, err)
		}
		_ = l.Close()
		store, err := model.OpenStore(db, 0)
		if err != nil {
			t.Fatalf("after %v the database is not free: %v", sig, err)
		}
		_ = store.Close()
	}
}

// TestWarmRestart stops and restarts the program: its cache has the same users, and the
// statistics say that they were restored.
func TestWarmRestart(t *testing.T) {
	program, db := built(t), filepath.Join(t.TempDir(), "users.db")
	const users = 50
	first := launch(t, program, "-port", "0", "-db", db)
	r := &running{t: t, url: first.url()}
	ask := func() {
		for id := range users {
			if code, body := r.do("GET", fmt.Sprintf("/users/%d", id+1), ""); code != 200 {
				t.Fatalf("user %d: %d %s", id+1, code, body)
			}
		}
	}
	ask()
	if s := r.stats("users"); s.Restored != 0 || s.Misses != users {
		t.Errorf("at the first start: %+v", s)
	}
	first.stop(syscall.SIGTERM)

	second := launch(t, program, "-port", "0", "-db", db)
	r.url = second.url()
	if s := r.stats("users"); s.Restored != users || s.Entries != users {
		t.Errorf("after a restart %d of %d were restored, and %d are there", s.Restored, users, s.Entries)
	}
	ask()
	if s := r.stats("users"); s.Hits != users || s.Misses != 0 {
		t.Errorf("after a restart: %d hits, %d misses", s.Hits, s.Misses)
	}
	second.stop(syscall.SIGTERM)
	second.said(fmt.Sprintf("cache(users) - %d entries restored from %s.cache", users, db))
}

// A DevServer that cannot listen is no reason not to start.
func TestBusyDevServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	settle.Must(t, err)
	defer func() { _ = l.Close() }()
	c := service.DevServerConfig{Enabled: true, Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}
	giveUpBusyDevServer(&c)
	if c.Enabled {
		t.Error("it is to listen on a port that is not free")
	}
}

// process is a started program.
type process struct {
	t         *testing.T
	devServer string // its address
	cmd       *exec.Cmd
	out       *logs
	exited    chan error
}

// launch starts the program with the built-in settings, except for a free port of the DevServer,
// the log level debug, and times that a slow machine may take for requests and to stop.
func launch(t *testing.T, program string, args ...string) *process {
	t.Helper()
	port := freePort(t)
	file := filepath.Join(t.TempDir(), "service.yaml")
	settings := strings.NewReplacer("Port: 6060", fmt.Sprintf("Port: %d", port),
		"Encoding: plain", "Encoding: plain\n  Level: debug",
		"Port: 8888", fmt.Sprintf("Port: 8888\nTimeout: %d", patience.Milliseconds()),
		"WaitTime: 5s", fmt.Sprintf("WaitTime: %v", patience)).Replace(string(defaultConfig))
	settle.Must(t, os.WriteFile(file, []byte(settings), 0o600))
	p := &process{
		t:         t,
		devServer: fmt.Sprintf("http://127.0.0.1:%d", port),
		cmd:       exec.Command(program, append([]string{"-f", file}, args...)...),
		out:       &logs{},
		exited:    make(chan error, 1),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	settle.Must(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() { p.exited <- p.cmd.Wait() }()
	return p
}

// url waits for the address that the program prints when it is ready.
func (p *process) url() (url string) {
	p.t.Helper()
	eventually(p.t, "the program prints its address", func() bool {
		url = regexp.MustCompile(`http://[\d.:]+`).FindString(p.out.String())
		return url != ""
	})
	return url
}

// devServerHasTheCaches expects the caches among the metrics of the DevServer, which
// go-zero starts in the background.
func (p *process) devServerHasTheCaches() {
	p.t.Helper()
	r := &running{t: p.t, url: p.devServer}
	eventually(p.t, "the DevServer listens", func() bool {
		resp, err := http.Get(p.devServer + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
	_, metrics := r.do("GET", "/metrics", "")
	for _, line := range []string{`cache_gets_total{cache="users",result="miss"} `, `cache_size{cache="sessions"} `} {
		if !strings.Contains(metrics, "\n"+line) {
			p.t.Errorf("the DevServer has no line %q:\n%s", line, metrics)
		}
	}
}

// said expects that the program, which has ended, has printed a text.
func (p *process) said(what string) {
	p.t.Helper()
	if !strings.Contains(p.out.String(), what) {
		p.t.Errorf("it did not say %q:\n%s", what, p.out)
	}
}

// stop sends a signal, and expects the program to end well, before go-zero would kill it.
func (p *process) stop(sig os.Signal) {
	p.t.Helper()
	settle.Must(p.t, p.cmd.Process.Signal(sig))
	select {
	case err := <-p.exited:
		if err != nil {
			p.t.Fatalf("after %v: %v\n%s", sig, err, p.out)
		}
	case <-time.After(patience):
		p.t.Fatalf("%v after %v it still runs\n%s", patience, sig, p.out)
	}
}

// refused starts the program, which must end with one line that says what to do.
func refused(t *testing.T, hint, program string, args ...string) {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err == nil || strings.Contains(text, "\n") || !strings.Contains(text, hint) {
		t.Errorf("%s: %v, and it said\n%s\nwant one line with %s", fmt.Sprint(args), err, text, hint)
	}
}

// freePort returns a free port below those that the system hands out by itself, as to tests
// that run at the same time.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}
