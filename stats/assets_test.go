package stats_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// assetFiles returns the names of the files of the page.
func assetFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.html", "*.js", "*.css", "*.svg"} {
		matches, err := filepath.Glob(pattern)
		must(t, err)
		names = append(names, matches...)
	}
	return names
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// TestAssets checks that every file is served as it is, except the page, which gets its links; that
// the scripts import only what is served; and that they are small.
func TestAssets(t *testing.T) {
	var r stats.Registry
	h := r.Handler()
	total := 0
	for _, name := range assetFiles(t) {
		text := readFile(t, name)
		total += len(text)
		for _, found := range regexp.MustCompile(`from '(.*?)'`).FindAllStringSubmatch(text, -1) {
			if file, ok := strings.CutPrefix(found[1], "./"); !ok || files[file] == "" {
				t.Errorf("%s imports %q, which is no file beside it", name, found[1])
			}
		}
		if name == "page.html" {
			name, text = "", strings.ReplaceAll(text, "{{dir}}", "")
		}
		if got := body(t, h, "/any/prefix/"+name); got != text {
			t.Errorf("%q is served as\n%s", name, got)
		}
	}
	if total == 0 || total >= 64_000 {
		t.Errorf("the page and its files have %d bytes, want fewer than 64,000", total)
	}
}

// inline is what the page must not have, by the policy.
var inline = regexp.MustCompile(`(?i)[\s"'/](on\w+|style|srcdoc|formaction)\s*=|<style|<base`)

// The policy forbids inline code and other origins. A browser would leave these out, and
// report it only in its console. Where links lead is in TestHandlerServesBelowAnyPrefix.
func TestThePageNeedsNothingThatThePolicyForbids(t *testing.T) {
	page := readFile(t, "page.html")
	if found := inline.FindAllString(page, -1); found != nil {
		t.Errorf("the page has %q", found)
	}
	if strings.Count(strings.ToLower(page), "<script") != 1 || !strings.Contains(page, `<script type="module" src="{{dir}}page.js"></script>`) {
		t.Error("the page has another script than page.js")
	}
	// Nothing is fetched from elsewhere by the other files either. An address that
	// names a format of XML is fetched by nobody.
	elsewhere := regexp.MustCompile(`(?i)(https?:|wss?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s"'<)]*`)
	for _, name := range assetFiles(t) {
		text := readFile(t, name)
		for _, address := range elsewhere.FindAllString(text, -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") {
				t.Errorf("%s has the address %s", name, address)
			}
		}
		for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "createContextualFragment", "setAttribute('style'", "cssText"} {
			if strings.Contains(text, forbidden) {
				t.Errorf("%s has %s", name, forbidden)
			}
		}
	}
	if strings.Contains(readFile(t, "style.css"), "@import") || strings.Contains(readFile(t, "style.css"), "url(") {
		t.Error("style.css loads something")
	}
}

// Names and keys are in the JSON only, and in nothing that a browser might take for a page.
func TestNamesAreNotInThePage(t *testing.T) {
	var r stats.Registry
	const nasty = `<script>alert("1")</script>`
	for range 2 {
		r.Add(sources.Cache[stats.Snapshot]{Name: nasty, Snapshot: always(distinct(0)), HotKeys: func() []sources.HotKey { return []sources.HotKey{{Key: nasty}} }})
	}
	r.RegisterWheel(nasty, always(distinctWheel(0)))
	h := r.Handler(stats.WithOperators(anybody))
	for file := range files {
		if text := body(t, h, "/"+file); file != "metrics" && strings.Contains(text, "<script>alert") {
			t.Errorf("%q has the name unescaped", file)
		}
	}
	w := purge{body: "cache=%3Cscript%3E&all=1"}.send(h)
	if answerOf(t, w); strings.Contains(w.Body.String(), "<") {
		t.Errorf("the answer to a purge has the name unescaped: %s", w.Body)
	}
	// The path goes into the links of the page.
	odd := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = ""
		h.ServeHTTP(w, r)
	})
	for _, path := range []string{`/%22%3E%3Cscript%3E`, `/'onload='x`, `/a&quot;b`, `/{{dir}}`, "//evil.example", "*"} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.RequestURI = path
		page := answered(odd, request).Body.String()
		if strings.Contains(page, "'onload") || strings.Contains(page, `a&quot;b`) || strings.Contains(page, `="//`) ||
			strings.Count(page, "<script") != 1 || strings.Contains(page, "{{") {
			t.Errorf("%s comes into the page as\n%s", path, page[:min(len(page), 500)])
		}
	}
}

// TestAProgramWithoutThePageHasNoAssets checks that a program that never calls Handler does not
// contain the page: every program with a cache links this package.
func TestAProgramWithoutThePageHasNoAssets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	unserved, served := link(t, "unserved"), link(t, "served")
	for _, file := range assetFiles(t) {
		asset := []byte(readFile(t, file))
		if bytes.Contains(unserved, asset) {
			t.Errorf("%s is linked, though nobody calls Handler", file)
		}
		if !bytes.Contains(served, asset) {
			t.Errorf("%s is not linked where somebody calls Handler: does this test look for the right thing?", file)
		}
	}
}

// link returns a program below testdata.
func link(t *testing.T, name string) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", program, "./testdata/"+name)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return []byte(readFile(t, program))
}
