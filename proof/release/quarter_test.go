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

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestQuarterOfAnHour does what the README says under that heading, in an empty folder and with
// the modules as users get them: it writes each file, and runs each command. Only ports are
// others. How long it took is in the log.
//
// Catches: a command or a program in the README that does not work, a module or a file that users
// do not get.
func TestQuarterOfAnHour(t *testing.T) {
	section := sectionOf(t, "README.md", "A quarter of an hour")
	redis, err := redistest.Start()
	redis = redistest.Started(t, redis, err)
	section = strings.NewReplacer("127.0.0.1:8080", freeAddr(t), "127.0.0.1:6379", redis.Addr).Replace(section)

	users := publish(t).inFolder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	began, printed, waits := time.Now(), "", false
	for _, m := range blocks.FindAllStringSubmatch(section, -1) {
		if m[1] == "sh" {
			if strings.Contains(m[2], "./hello &") {
				waits = true
				users.bashWithoutProgram(ctx, t, m[2])
			}
			printed += users.bash(ctx, t, m[2])
			t.Logf("after %v: %s", time.Since(began).Round(time.Second), strings.TrimSpace(m[2]))
			continue
		}
		users.writeProgram(t, m[2])
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

// TestClone starts hello in a clone, and builds the programs of the README with that, as
// docs/versions.md says, while no version is published.
//
// Catches: a command that does not work, a module that the clone does not replace.
func TestClone(t *testing.T) {
	users := newUser(t, "")
	users.dir = filepath.Join(users.dir, "hello")
	here := user{dir: ".", env: os.Environ()}
	commands := blocks.FindAllStringSubmatch(sectionOf(t, "docs/versions.md", "From a clone"), -1)
	for _, m := range blocks.FindAllStringSubmatch(sectionOf(t, "README.md", "A quarter of an hour"), -1) {
		if m[1] == "go" {
			users.writeProgram(t, m[2])
		}
	}
	users.bash(t.Context(), t, "go mod init hello")
	for _, m := range commands {
		users.bash(t.Context(), t, strings.ReplaceAll(m[2], "https://github.com/pinwheel-cache/pinwheel", here.run(t, "git", "rev-parse", "--show-toplevel")))
	}
	users.run(t, "go", "build", "-o", os.DevNull, "./...")
	if got := users.bash(t.Context(), t, "make -C ../pinwheel hello >hello.log 2>&1 &\ncurl -sS --retry 300 --retry-delay 1 --retry-connrefused http://127.0.0.1:8080/user/1"); !strings.Contains(got, "User 1") {
		t.Errorf("make hello serves %s", got)
	}
	if len(commands) != 2 {
		t.Errorf("%d blocks of commands, want those before and after the program", len(commands))
	}
}

var blocks = regexp.MustCompile("(?ms)^```(go|sh)\n(.*?)^```")

// sectionOf returns what a page of the repository has below a heading.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	settle.Must(t, err)
	_, section, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// writeProgram writes a program to the file that its first line names.
func (u user) writeProgram(t *testing.T, text string) {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "// "), "\n")
	settle.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(u.dir, name)), 0o700))
	u.write(t, name, text)
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
	settle.Must(t, err)
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
	settle.Must(t, err)
	defer l.Close()
	return l.Addr().String()
}
