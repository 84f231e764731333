//go:build unix

package release

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestQuarterOfAnHour does what the README says under that heading, in an empty folder and with
// the modules as users get them: it writes each file, and runs each command. Only ports are
// others. How long it took is in the log.
//
// Catches: a command or a program in the README that does not work, a module or a file that users
// do not get.
func TestQuarterOfAnHour(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## A quarter of an hour\n")
	if !ok {
		t.Fatal("the README has no such heading")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	redis, err := redistest.Start()
	redis = redistest.Started(t, redis, err)
	section = strings.NewReplacer("127.0.0.1:8080", freeAddr(t), "127.0.0.1:6379", redis.Addr).Replace(section)

	users := publish(t).inFolder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	began, printed, waits := time.Now(), "", false
	for _, m := range regexp.MustCompile("(?ms)^```(go|sh)\n(.*?)^```").FindAllStringSubmatch(section, -1) {
		if m[1] == "sh" {
			if strings.Contains(m[2], "./hello &") {
				waits = true
				users.bashWithoutProgram(ctx, t, m[2])
			}
			printed += users.bash(ctx, t, m[2])
			t.Logf("after %v: %s", time.Since(began).Round(time.Second), strings.TrimSpace(m[2]))
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(m[2], "// "), "\n")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(users.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		users.write(t, name, m[2])
	}
	for _, want := range []string{
		"name of 1\n",                         // by the server
		"cache_puts_total{cache=\"names\"} 1", // its metrics
		"Ann <nil>",                           // by the near cache
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("the commands do not print %q; they print:\n%s", want, printed)
		}
	}
	if !waits {
		t.Error("no commands start ./hello: which ones wait for a server?")
	}
	if rules, err := os.ReadFile(filepath.Join(users.dir, "pinwheel-alerts.yaml")); err != nil || !strings.Contains(string(rules), "alert:") {
		t.Errorf("pinwheel-alerts.yaml: %v, %d bytes", err, len(rules))
	}
}

// bashWithoutProgram runs commands that start main.go, as if pasted line by line, where it does not
// build. They must end, and say why.
func (u user) bashWithoutProgram(ctx context.Context, t *testing.T, commands string) {
	t.Helper()
	u.dir = t.TempDir()
	u.write(t, "go.mod", "module hello\n")
	u.write(t, "main.go", "package main\n\nfunc main() { undeclared() }\n")
	if printed := u.bash(ctx, t, "set +e\n"+commands+"true"); !strings.Contains(printed, "undefined: undeclared") || !strings.Contains(printed, "Failed to connect") {
		t.Errorf("without a program the commands print\n%s", printed)
	}
}

// bash runs commands in a shell and returns what they print. What they leave running is killed
// when the test ends.
func (u user) bash(ctx context.Context, t *testing.T, commands string) string {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "") // not a pipe: a server that goes on would hold it
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = u.dir, u.env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	if err == nil {
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		err = cmd.Wait()
	}
	text, readErr := os.ReadFile(out.Name())
	if err != nil || readErr != nil {
		t.Fatalf("%s: %v %v\n%s", commands, err, readErr, text)
	}
	return string(text)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
