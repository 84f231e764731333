package suites

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestJudge shows judge outputs of go test, and checks what it complains about.
func TestJudge(t *testing.T) {
	const (
		pass  = `{"Action":"run","Test":"TestA"}{"Action":"pass","Test":"TestA"}`
		fail  = `{"Action":"run","Test":"TestA"}{"Action":"output","Test":"TestA","Output":"want 1"}{"Action":"fail","Test":"TestA"}`
		below = `{"Action":"run","Test":"TestA/b"}{"Action":"fail","Test":"TestA/b"}{"Action":"fail","Test":"TestA"}`
		race  = `{"Action":"run","Test":"TestA"}{"Action":"output","Test":"TestA","Output":"WARNING: DATA RACE"}{"Action":"fail","Test":"TestA"}`
		hangs = `{"Action":"run","Test":"TestA"}`
		other = `{"Action":"pass","Test":"TestB"}`

		ok  = `{"Action":"pass"}`
		bad = `{"Action":"fail"}`
	)
	for name, test := range map[string]struct {
		out, list string
		want      []string // in the order of the complaints
	}{
		"passes":                      {pass + ok, "", nil},
		"fails":                       {fail + bad, "", []string{"TestA failed\nwant 1"}},
		"fails as listed":             {fail + bad, "fail TestA because", nil},
		"passes though listed":        {pass + ok, "fail TestA because", []string{"TestA is listed as one that fails"}},
		"listed by a wrong name":      {pass + ok, "fail TestC because", []string{"TestC is listed"}},
		"a subtest fails":             {below + bad, "", []string{"TestA/b failed"}},
		"a subtest fails as listed":   {below + bad, "fail TestA/b because", nil},
		"listed as slow, and fails":   {fail + bad, "slow TestA because", []string{"TestA failed"}},
		"a race in one that may fail": {race + bad, "fail TestA because", []string{"TestA has a data race"}},
		"hangs":                       {hangs + bad, "fail TestA because", []string{"the package failed", "not run to the end: TestA"}},
		"does not run":                {other + ok, "", []string{"not run to the end: TestA"}},
		"does not build":              {`{"Action":"build-output","Output":"undefined: x"}` + bad, "", []string{"the package failed, and no test\nundefined: x", "not run to the end: TestA"}},
		"the process ends late":       {pass + bad, "", []string{"the package failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := newReport([]byte(test.out), "")
			must(t, err)
			expected, err := parseExpectations(test.list)
			must(t, err)
			got := r.judge([]string{"TestA"}, expected)
			if len(got) != len(test.want) {
				t.Fatalf("complaints: %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("complaint %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestParseExpectations(t *testing.T) {
	for _, text := range []string{
		"fail TestA",                      // no reason
		"flaky TestA because",             // no such verdict
		"omit TestA/b because",            // cannot be left out alone
		"fail TestA one\nomit TestA more", // twice
		"fail * because",                  // not all
	} {
		if e, err := parseExpectations(text); err == nil {
			t.Errorf("%q is accepted, as %v", text, e)
		}
	}
	got, err := parseExpectations("# a remark\n\nfail TestA it\n goes on\nomit TestC it")
	if want := (expectations{"TestA": fails, "TestC": omitted}); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestAdapt(t *testing.T) {
	const text = `package x

import (
	"fmt"
	. "sync"
	"time"
)

// TestA stays.
func TestA(t *testing.T) { var m Map; time.Sleep(1); _ = m }

func TestB(t *testing.T) {
	fmt.Println()
}

func TestC(t *testing.T) { time.Sleep(1); t.Parallel() }

func helper(b *testing.B) { fmt.Println() }
`
	a, err := suite{imports: map[string]string{"sync": "sync", "time": "clock"}}.adapt("x_test.go", []byte(text), expectations{"TestB": omitted, "TestC": bubble})
	must(t, err)
	got := string(a.text)
	for _, want := range []string{`. "` + adapters + `sync"`, `time "` + adapters + `clock"`, "// TestA stays.\nfunc TestA",
		`package x; import "testing/synctest"`, "TestC(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1);              }) }"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %q in it", got, want)
		}
	}
	for _, gone := range []string{"fmt", "TestB", "helper"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s\nwant it without %q", got, gone)
		}
	}
	if got, want := strings.Count(got, "\n"), strings.Count(text, "\n"); got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
	slices.Sort(a.tests)
	if !slices.Equal(a.tests, []string{"TestA", "TestC"}) || len(a.functions) != 4 {
		t.Errorf("tests %v of the functions %v", a.tests, a.functions)
	}
	a, err = suite{}.adapt("x_test.go", []byte(text), expectations{"TestB": fails, everyTest: bubble})
	must(t, err)
	if n := strings.Count(string(a.text), "synctest.Test("); n != 3 {
		t.Errorf("%s\n%d bubbles, want one for each test", a.text, n)
	}
}

// A suite leaves out what uses internals, and puts subtests into bubbles of their own.
func TestAdaptInternalsAndSubtests(t *testing.T) {
	const text = `package x

func TestA(t *testing.T) { c.hidden() }

func TestB(t *testing.T) {
	t.Run("b", func(t *testing.T) {
		t.Run("c", func(t *testing.T) { t.Parallel(); one() })
		t.Run("d", func(t *testing.T) { two() })
	})
}
`
	s := suite{internals: regexp.MustCompile("hidden")}
	a, err := s.adapt("x_test.go", []byte(text), expectations{everyTest: bubble})
	must(t, err)
	const want = `package x; import "testing/synctest"

                                       

func TestB(t *testing.T) {
	t.Run("b", func(t *testing.T) {
		t.Run("c", func(t *testing.T) { synctest.Test(t, func(t *testing.T) {             ; one() }) })
		t.Run("d", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { two() }) })
	})
}
`
	if string(a.text) != want || a.internal != 1 {
		t.Errorf("%s\n%d use internals; want\n%s\n1", a.text, a.internal, want)
	}
}

// A list that omits a test which does not exist is an error.
func TestOverlayOmitsWhatIsThere(t *testing.T) {
	s := suite{adapter: "time", files: []string{"time/tick_test.go"}}
	if _, _, err := s.overlay(t, expectations{"TestNoSuch": omitted}); err == nil || !strings.Contains(err.Error(), "TestNoSuch") {
		t.Errorf("error %v, want one that names TestNoSuch", err)
	}
}

// Every adapter that has a list is run.
func TestEveryListIsUsed(t *testing.T) {
	folders, err := os.ReadDir("adapters")
	must(t, err)
	used := map[string]bool{}
	for _, s := range suites {
		used[s.adapter] = true
	}
	for _, f := range folders {
		_, err := os.Stat("adapters/" + f.Name() + "/expected.txt")
		if err == nil && !used[f.Name()] {
			t.Errorf("nothing runs with the adapter %s", f.Name())
		}
	}
}
