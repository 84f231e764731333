//go:build unix

package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// TestMain is the program instead of its tests when a test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("HEARTBEATS") == "" {
		goleak.VerifyTestMain(m) // exits
	}
	main()
}

// Catches: a connection that beats and is closed; a silent one that is not, or too early or late.
func TestWays(t *testing.T) {
	for way, most := range map[string]time.Duration{"wheel": 100 * time.Millisecond, "sweep": time.Second, "package time": 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := load{connections: 10_000, beat: 5 * time.Second, timeout: 30 * time.Second, window: 45 * time.Second}
			r := l.measure(ctx, way)
			if cancel(); r.Closed != 10 || r.Others != 0 || r.Latest > most.Seconds() {
				t.Errorf("%s: %+v, want 10 closed within %v", way, r, most)
			}
			for i := range l.all {
				closed := time.Duration(l.all[i].closed.Load())
				late := closed - l.all[i].beat - l.timeout
				if silent := l.all[i].silent > 0; silent != (closed > 0) || silent && (late < 0 || late > most) {
					t.Errorf("%s: a connection, silent: %t, is closed at %v, %v late", way, silent, closed, late)
				}
			}
			time.Sleep(l.sweeps()) // then the sweep has ended
		})
	}
}

// Catches: a table or page that is not there; a wrong flag without a word; a child that outlives an interrupt.
func TestProgram(t *testing.T) {
	for args, want := range map[string]string{
		"-connections 1000 -beat 50ms -timeout 300ms -for 1s": `(?s)late\nwheel .*\nsweep .*\npackage time .*\nnone( +[-\d.]+){5}\n$`,
		"-http 127.0.0.1:0 -for 1h":                           `shows it while it runs\n$`,
		"-connections 0":                                      "such as -connections 100000",
		"-beat 1ms":                                           "such as -beat 5s -timeout 30s",
		"-for 31s":                                            "such as -for 45s",
		"-http 127.0.0.1:x":                                   "choose another address: -http ",
		"5s":                                                  "all settings are flags",
	} {
		p := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(args)...)
		stdout, _ := p.StdoutPipe()
		p.Env, p.Stderr = append(os.Environ(), "HEARTBEATS=1"), p.Stdout
		p.Start() // or Wait says why not
		text := ""
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			text += lines.Text() + "\n"
			if url, _, ok := strings.Cut(strings.TrimSpace(lines.Text()), " shows it"); ok {
				response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(url)
				if err != nil || response.StatusCode != http.StatusOK || response.Body.Close() != nil {
					t.Errorf("%s: %v %v", url, response, err)
				}
				p.Process.Signal(os.Interrupt)
			}
		}
		if err := p.Wait(); !regexp.MustCompile(want).MatchString(text) || (err == nil) != strings.HasSuffix(want, "$") {
			t.Errorf("%s: %v, want %q:\n%s", args, err, want, text)
		}
	}
}
