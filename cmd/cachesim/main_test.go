package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

// cachesim runs the program with an input and returns its exit status and output.
func cachesim(input string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = Main(args, strings.NewReader(input), &out, &errs)
	return status, out.String(), errs.String()
}

// file returns the name of a new file with a content.
func file(t testing.TB, name, content string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	settle.Must(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// The JSON has exactly these names, as programs read it.
func TestJSONContract(t *testing.T) {
	var keys []int // 100 gets of 3 keys
	for range 25 {
		keys = append(keys, 1, 2, 3, 1)
	}
	status, stdout, stderr := cachesim(text(keys), "-json", "-limits", "67%,100%,1", "-policies", "lru,min")
	if status != 0 || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	var answer struct {
		Runs []map[string]any `json:"runs"`
	}
	settle.Must(t, json.Unmarshal([]byte(stdout), &answer))
	var want []map[string]any
	// MIN with one entry keeps key 1, with two also key 2.
	for i, best := range []int{49, 73, 97} {
		for policy, hits := range []int{secondChance(keys, i+1), best} {
			want = append(want, map[string]any{
				"policy": []string{"lru", "min"}[policy], "limit": float64(i + 1), "gets": 100.0, "hits": float64(hits),
			})
		}
	}
	if !reflect.DeepEqual(answer.Runs, want) {
		t.Errorf("got  %v\nwant %v", answer.Runs, want)
	}
}

// A log gives the same result in every format.
func TestLayouts(t *testing.T) {
	nginx := `1.2.3.4 - - [22/Nov/2026:03:14:3%d +0000] "GET /page/%s HTTP/1.1" 200 %d "-" "a \"b\" c"` + "\n"
	table := "%d,%s,%d\n"
	object := `{"at": 17000000%d, "http": {"uri": "/page/%s"}, "bytes": %d}` + "\n"
	all := map[string]string{}
	for i, key := range []string{"a", "b", "a", "c", "b", "a"} {
		size := 100 * (1 + int(key[0]-'a'))
		all["lines"] += "/page/" + key + "\r\n"
		all["nginx"] += fmt.Sprintf(nginx, i, key, size)
		all["csv"] += fmt.Sprintf(table, 1700000000+i, `"/page/`+key+`"`, size)
		all["tsv"] += strings.ReplaceAll(fmt.Sprintf(table, 1700000000+i, "/page/"+key, size), ",", "\t")
		all["json"] += fmt.Sprintf(object, 10+i, key, size)
	}
	expr := `\[(?P<time>[^]]+)\] "\S+ (?P<key>\S+) [^"]*" \d+ (?P<size>\d+)`
	for name, test := range map[string]struct {
		input        string
		args         []string
		times, sizes bool
	}{
		"lines":       {all["lines"], nil, false, false},
		"no end":      {strings.TrimSpace(all["lines"]), nil, false, false},
		"gzip":        {zipped(all["lines"]), nil, false, false},
		"gzip, twice": {zipped(all["lines"][:9]) + zipped(all["lines"][9:]), nil, false, false},
		"csv":         {all["csv"], []string{"-format", "csv", "-key", "2", "-time", "1", "-size", "3"}, true, true},
		"csv, names":  {"at,uri,bytes\n" + all["csv"], []string{"-format", "csv", "-key", "uri", "-time", "at", "-size", "bytes"}, true, true},
		"tsv":         {all["tsv"], []string{"-format", "csv", "-separator", "tab", "-key", "2", "-time", "1", "-size", "3"}, true, true},
		"json":        {all["json"], []string{"-format", "json", "-key", "http.uri", "-time", "at", "-size", "bytes"}, true, true},
		"regexp":      {all["nginx"], []string{"-regexp", expr}, true, true},
		"columns":     {all["nginx"], []string{"-format", "csv", "-separator", "space", "-key", "6", "-size", "8"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := studied(t, test.input, append(test.args, "-limits", "2", "-policies", "lru,min")...)
			want := summary{Gets: 6, Keys: 3, Once: 1, Half: 1, Most: 3, Working: 2, SampleRate: 1, SampleKeys: 3}
			if test.sizes {
				want.Bytes = 600
			}
			if test.times {
				want.Seconds = 5
			}
			if r.Input != want || r.Skipped != 0 || r.Runs[0].Hits != 1 || r.Runs[1].Hits != 3 {
				t.Errorf("got %+v, skipped %d, hits %d and %d\nwant %+v, and 1 and 3", r.Input, r.Skipped, r.Runs[0].Hits, r.Runs[1].Hits, want)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	none, folder := filepath.Join(t.TempDir(), "none"), t.TempDir()
	_, notThere := os.ReadFile(none) // systems say it in different words
	_, noFile := os.ReadFile(folder)
	empty, binary := file(t, "empty.log", ""), file(t, "a.out", "\x7fELF\x02\x00\x00")
	for _, test := range []struct {
		args  []string
		input string
		want  string
	}{
		{[]string{empty}, "", "there is nothing to read in [" + empty + "]: want a key on each line"},
		{nil, "", "there is nothing to read in [-]"},
		{nil, "\n\n", "no line could be read: standard input, line 1, \"\": the key is empty"},
		{[]string{binary}, "", "is not text: byte 5 is zero"},
		{[]string{none}, "", errors.Unwrap(notThere).Error()},
		{[]string{folder}, "", errors.Unwrap(noFile).Error()},
		{nil, "\x1f\x8bnonsense", "gzip"},
		{nil, zipped(strings.Repeat("key\n", 1000))[:30], "unexpected EOF"},
		{nil, strings.Repeat("x", 2<<20), "line 1 is longer than"},
		{[]string{"-format", "csv", "-key", "3"}, "a,b\nc,d\n", "no line could be read: standard input, line 1, \"a,b\": it has 2 columns, and -key is column 3"},
		{[]string{"-format", "csv", "-key", "user"}, "id,name\n1,2\n", `-key is "user", and the first line has only the columns ["id" "name"]`},
		{[]string{"-format", "json", "-key", "a.b"}, `{"a": {"c": 1}}`, `-key: there is no field "b"`},
		{[]string{"-format", "json", "-key", "a"}, "nonsense", `-key: want a JSON object with a field "a"`},
		{[]string{"-regexp", "(x)"}, "abc", `"abc": it does not match -regexp`},
		{[]string{"-format", "csv", "-key", "1", "-time", "2"}, "a,yesterday", `the time is "yesterday": want Unix seconds`},
		{[]string{"-format", "csv", "-key", "1", "-size", "2"}, "a,-5", `the size is "-5": want a number of bytes`},
		{[]string{"-limits", "5%,64MB"}, "a", "-limits has 64 MB, and nothing in the input has a size: want -size"},
		{[]string{"-format", "csv", "-key", "1", "-ttl", "2"}, "a,soon", `the TTL is "soon": want seconds`},
	} {
		status, stdout, stderr := cachesim(test.input, test.args...)
		if status != 1 || stdout != "" || !strings.HasPrefix(stderr, "cachesim: ") || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: status %d, %q\n%s\nwant %s", test.args, status, stdout, stderr, test.want)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for want, args := range map[string]string{
		`-limits has "0%"`:              "-limits 5%,0%",
		`-limits has "x"`:               "-limits x",
		`-limits has "0"`:               "-limits 0",
		`-limits has "0.1B"`:            "-limits 0.1B",
		`-policies has "lfu"`:           "-policies lru,lfu",
		`-format is "xml"`:              "-format xml",
		`-key is "a", but with -format`: "-key a",
		"has no group":                  "-regexp x",
		"missing closing )":             "-regexp (x",
		`-time is "t": want the nam`:    "-regexp (x) -time t",
		"want one of them":              "-regexp (x) -format csv",
		`-separator is "ab"`:            "-format csv -separator ab",
		"-key is column 0":              "-format csv -key 0",
		"without -key":                  "-format json",
		"-expire is 1m0s without":       "-expire 1m",
		"-sample is 5":                  "-sample 5",
		"-sample-keys is 5":             "-sample-keys 5",
		"-rate is -1":                   "-rate -1",
		"-latency is -1s":               "-latency -1s",
		"for flag -latency: want a time with its unit, as in 2ms or 10m": "-latency 3",
		"for flag -expire: want a time with its unit, as in 2ms or 10m":  "-expire 60",
		"for flag -rate: want a number":                                  "-rate x",
		"for flag -sample: want a whole number":                          "-sample 1e6",
		"for flag -sample-keys: want a whole number":                     "-sample-keys x",
		"not defined: -nonsense":                                         "-nonsense",
	} {
		status, stdout, stderr := cachesim("a\n", strings.Fields(args)...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s\nwant %s", args, status, stderr, want)
		}
	}
	status, _, stderr := cachesim("", "-h")
	for _, want := range []string{"  -limits list\n", "  -latency duration\n", "  -format name\n", "(default 1048576)\n"} {
		if status != 0 || !strings.Contains(stderr, want) { // no value that reads as the default
			t.Errorf("-h: status %d, %s\nwant %s", status, stderr, want)
		}
	}
}

func TestSkippedLinesAreCounted(t *testing.T) {
	status, stdout, _ := cachesim("GET /a\nnonsense\nGET /b\nGET /a\n", "-regexp", `GET (\S+)`)
	if want := `Skipped 1 of 4 lines. The first: standard input, line 2, "nonsense": it does not match -regexp.`; status != 0 || !strings.Contains(stdout, want) {
		t.Errorf("status %d:\n%s\nwant %s", status, stdout, want)
	}
	if !strings.Contains(stdout, "No advice: there are only 3 gets") || !strings.Contains(stdout, "No advice: 1 of 4 lines could not be read") {
		t.Errorf("it gives advice on next to nothing:\n%s", stdout)
	}
}

// Files are read in order, each in its own format.
func TestSeveralFiles(t *testing.T) {
	a, b := file(t, "a", "1\n2\n3"), file(t, "b.gz", zipped("1\n2\n"))
	if r := studied(t, "3\n", "-limits", "3", a, b, "-"); r.Input.Gets != 6 || r.Runs[0].Hits != 3 {
		t.Errorf("%+v", r)
	}
}

// text returns keys as an input.
func text(keys []int) string {
	var b strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&b, key)
	}
	return b.String()
}
