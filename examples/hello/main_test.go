//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

const patience = 2 * time.Minute

// TestMain is the program instead of its tests when a test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("HELLO") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Catches: a service that answers wrongly, a page or line without numbers, and an interrupt that
// waits for connections or is an error.
func TestHello(t *testing.T) {
	p := start(t, "-addr", "127.0.0.1:0")
	url, _, _ := strings.Cut(p.line(t, "/cache/ shows the cache"), "/cache/")
	for path, want := range map[string]string{
		"/user/1":           `{"ID":"1","Name":"User 1"}`,
		"/user/100":         "not found",
		"/cache/":           "<html",
		"/cache/stats.json": `"name":"users"`,
	} {
		if got := get(t, url+path); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	p.line(t, " requests, hit ratio ")
	unused, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")) // as browsers do
	settle.Must(t, err)
	defer unused.Close()
	settle.Must(t, p.Process.Signal(os.Interrupt))
	p.ends(t, true)
}

// Catches: a database that -outage leaves alone.
func TestOutage(t *testing.T) {
	p := start(t, "-addr", "127.0.0.1:0", "-outage", "1s")
	for strings.Contains(p.line(t, " requests, hit ratio "), " 0 loads timed out") {
	}
}

// Catches: -for that is ignored, and an address in use without a word about -addr.
func TestFlags(t *testing.T) {
	start(t, "-addr", "127.0.0.1:0", "-for", "10ms").ends(t, true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	settle.Must(t, err)
	defer l.Close()
	p := start(t, "-addr", l.Addr().String())
	p.line(t, "choose another address: -addr ")
	p.ends(t, false)
}

// A process is the program, with the lines that it prints.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	program, err := os.Executable()
	settle.Must(t, err)
	p := process{Cmd: exec.Command(program, args...)}
	p.Env = append(os.Environ(), "HELLO=1")
	out, err := p.StdoutPipe()
	settle.Must(t, err)
	p.Stderr = p.Stdout
	p.lines = bufio.NewScanner(out)
	settle.Must(t, p.Start())
	kill := time.AfterFunc(patience, func() { p.Process.Kill() }) // then there are no more lines
	t.Cleanup(func() { kill.Stop(); p.Process.Kill(); p.Wait() })
	return p
}

// line returns the next line with a text.
func (p process) line(t *testing.T, text string) string {
	t.Helper()
	for p.lines.Scan() {
		if t.Log(p.lines.Text()); strings.Contains(p.lines.Text(), text) {
			return p.lines.Text()
		}
	}
	t.Fatalf("it ended without a line with %q", text)
	return ""
}

// ends waits for the end, with or without success.
func (p process) ends(t *testing.T, success bool) {
	t.Helper()
	for p.lines.Scan() {
		t.Log(p.lines.Text())
	}
	if err := p.Wait(); (err == nil) != success {
		t.Errorf("it ended with %v", err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: patience}
	response, err := client.Get(url)
	settle.Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	settle.Must(t, err)
	return string(body)
}
