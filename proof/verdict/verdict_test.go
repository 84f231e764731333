package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestVerdict lets go test run packages with one mistake each, and reads its events.
//
// Catches: a verdict that forgives what a second run may not excuse, or that does not name it.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name, code, second string // what a second run changes in the code
		want               string
		passes             bool
	}{
		{"passes", `func TestX(t *testing.T) {}`, "", "", true},
		{"flaky", `func TestX(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Fatal("too slow") }) }`, `t.Fatal("too slow")`, "FLAKY: fixture.TestX\n…too slow", true},
		{"fails", `func TestX(t *testing.T) { t.Fatal("wrong") }`, "", "FAILED: fixture.TestX\n…wrong", false},
		{"fails twice", `func TestX(t *testing.T) { t.Fatal("wrong") }`, "none", "FAILED: fixture.TestX\n…wrong", false},
		{"a panic", `func TestX(t *testing.T) { panic("oops") }`, `panic("oops")`, "FAILED: fixture.TestX\n…oops", false},
		{"skipped", `func TestX(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Skip("no server") }) }`, "", "SKIPPED: fixture.TestX/sub\n…no server", false},
		{"a leak", `func TestMain(m *testing.M) { m.Run(); print("a goroutine has leaked\n"); os.Exit(1) }`, "", "FAILED: fixture\n…a goroutine has leaked", false},
		{"a leak once", `func TestMain(m *testing.M) { m.Run(); print("a goroutine has leaked\n"); os.Exit(1) }`, "os.Exit(1)", "FAILED: fixture\n…a goroutine has leaked", false},
		{"an end", `func TestX(t *testing.T) { os.Exit(0) }`, "", "FAILED: fixture.TestX\n", false},
		{"does not compile", `func TestX(t *testing.T) { undefined() }`, "", "FAILED: fixture\n…undefined: undefined", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := newVerdict()
			code := "package fixture\n\nimport (\"os\"; \"testing\")\n\nvar _ = os.Exit\n\n" + c.code + "\n"
			read(t, v, code)
			if c.second != "" {
				read(t, v, strings.Replace(code, c.second, "", 1))
			}
			var out strings.Builder
			passes := v.print(&out, true)
			first, then, _ := strings.Cut(c.want, "…")
			if passes != c.passes || !strings.HasPrefix(out.String(), first) || !strings.Contains(out.String(), then) || (c.want == "") != (out.Len() == 0) {
				t.Errorf("passes: %t, and it says\n%s\nwant %t and %q", passes, &out, c.passes, c.want)
			}
		})
	}
}

// Catches: a run in which everything is forgiven.
func TestVerdictOfManyFlakes(t *testing.T) {
	for flakes := range mostFlaky + 2 {
		var events strings.Builder
		for i := range flakes {
			for _, action := range []string{"run", "fail", "run", "pass"} {
				fmt.Fprintf(&events, "{\"Action\":%q,\"Package\":\"p\",\"Test\":\"Test%d\"}\n", action, i)
			}
		}
		v := newVerdict()
		settle.Must(t, v.read(strings.NewReader(events.String())))
		var out strings.Builder
		if got, want := v.print(&out, false), flakes <= mostFlaky; got != want || strings.Count(out.String(), "FLAKY") != flakes {
			t.Errorf("%d flaky tests: passes %t, want %t; it says\n%s", flakes, got, want, &out)
		}
	}
}

// read gives the events of go test for a package to a verdict.
func read(t *testing.T, v *verdict, code string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module fixture\n\ngo 1.25\n", "x_test.go": code} {
		settle.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("go", "test", "-json", "-vet=off", "-count=1", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output() // that it fails is in the events
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	settle.Must(t, v.read(strings.NewReader(string(out))))
}

// Catches: a test that failed each time in one step, and is taken for flaky as it passes in
// another one, such as that with the race detector.
func TestVerdictOfTwoSteps(t *testing.T) {
	v := newVerdict()
	for _, actions := range [][]string{{"run", "fail", "run", "fail"}, {"run", "pass"}} {
		file := filepath.Join(t.TempDir(), "step.json")
		var events strings.Builder
		for _, action := range actions {
			fmt.Fprintf(&events, "{\"Action\":%q,\"Package\":\"p\",\"Test\":\"TestX\"}\n", action)
		}
		settle.Must(t, os.WriteFile(file, []byte(events.String()), 0o600))
		settle.Must(t, v.readFile(file))
	}
	var out strings.Builder
	if v.print(&out, false) || !strings.HasPrefix(out.String(), "FAILED: p.TestX") {
		t.Errorf("it says\n%s\nwant that TestX failed", &out)
	}
}
