package suites

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

var long = flag.Bool("suites.long", false, "run all of each suite, also what takes long")

// A suite is a set of test files of another library.
type suite struct {
	adapter string   // its folder
	module  string   // where the files are from; empty for the standard library
	files   []string // relative to the module, or to GOROOT/src

	needs string // a program that the adapter runs, if any

	// imports maps import paths of the files to the folders of the adapters that replace
	// them.
	imports map[string]string

	// internals matches functions that use internals of the original, or what other files of its
	// tests have. They are left out.
	internals *regexp.Regexp
}

var suites = []suite{
	{
		adapter: "time",
		files:   []string{"time/sleep_test.go", "time/tick_test.go"},
		imports: map[string]string{"time": "time", "internal/testenv": "goroot"},
	},
	{
		adapter: "gozerocache",
		needs:   "redis-server",
		module:  "github.com/zeromicro/go-zero",
		files:   []string{"core/stores/cache/cache_test.go", "core/stores/cache/cachenode_test.go"},
		imports: map[string]string{
			"github.com/alicebob/miniredis/v2":                         "miniredis",
			"github.com/zeromicro/go-zero/core/stores/redis/redistest": "redistest",
		},
	},
	{
		adapter: "sturdyc",
		module:  "github.com/viccon/sturdyc",
		files:   []string{"sturdyc_test.go", "fetch_test.go", "inflight_test.go", "passthrough_test.go"},
		imports: map[string]string{"github.com/viccon/sturdyc": "sturdyc"},
	},
	{
		adapter:   "otter",
		module:    "github.com/maypok86/otter/v2",
		files:     []string{"loading_test.go", "extension_test.go", "issue_test.go"},
		imports:   map[string]string{"github.com/maypok86/otter/v2/stats": "otterstats"},
		internals: regexp.MustCompile(`\bc\.cache\b|node\.|nodeID|queuedExecutor|waitForFrame|recordingLogger|ClockFailure|ExecutorFailure|newCacheContext|onAtomicDeletion|allPopulations|prevExpired|testCache`),
	},
}

func TestSuites(t *testing.T) {
	for _, s := range suites {
		t.Run(s.adapter, func(t *testing.T) { s.run(t) })
	}
}

// run runs the suite and reports each difference from its list of expectations.
func (s suite) run(t *testing.T) {
	if _, err := exec.LookPath(s.needs); s.needs != "" && err != nil {
		t.Skip("NOT TESTED: ", err)
	}
	text, err := os.ReadFile(filepath.Join("adapters", s.adapter, "expected.txt"))
	must(t, err)
	expected, err := parseExpectations(string(text))
	must(t, err)
	overlay, tests, err := s.overlay(t, expected)
	must(t, err)
	report, err := s.goTest(overlay)
	must(t, err)
	for _, complaint := range report.judge(tests, expected) {
		t.Error(complaint)
	}
	t.Log(report.summary())
}

// goTest runs the tests of an overlay, with the race detector only if this test has it, as
// compiling the standard library for it takes half a minute.
func (s suite) goTest(overlay string) (report, error) {
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=8m", "-overlay", overlay}
	if !*long {
		args = append(args, "-short")
	}
	if settle.UnderRace() {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./adapters/"+s.adapter)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return report{}, err
	}
	return newReport(out, stderr.String())
}

// overlay writes the adapted tests of the suite into a folder. It returns the file for the
// flag -overlay, and the names of the tests. The error is that of the list.
func (s suite) overlay(t *testing.T, expected expectations) (overlay string, tests []string, err error) {
	dir := t.TempDir()
	from, err := s.source()
	must(t, err)
	replace := map[string]string{}
	var functions []string
	internal := 0
	for _, file := range s.files {
		text, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(file)))
		must(t, err)
		adapted, err := s.adapt(file, text, expected)
		must(t, err)
		base := filepath.Base(file)
		beside, err := filepath.Abs(filepath.Join("adapters", s.adapter, base))
		must(t, err)
		replace[beside] = filepath.Join(dir, base)
		must(t, os.WriteFile(replace[beside], adapted.text, 0o600))
		tests = append(tests, adapted.tests...)
		functions = append(functions, adapted.functions...)
		internal += adapted.internal
	}
	if internal > 0 {
		t.Logf("%d functions use internals of the original, and are left out", internal)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	overlay = filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(overlay, text, 0o600))
	return overlay, tests, expected.known(functions)
}

var must = settle.Must // ends a test with an error that it did not expect
