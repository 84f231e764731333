package stats_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// Every file is served as it is, except the page, which gets its links.
func TestAssetsAreServedAsTheyAre(t *testing.T) {
	var r stats.Registry
	h := r.Handler()
	for _, name := range assetFiles(t) {
		if name == "page.html" {
			continue
		}
		if _, known := files[name]; !known {
			t.Errorf("%s is embedded, but no test knows it", name)
			continue
		}
		if got := body(t, h, "/any/prefix/"+name); got != readFile(t, name) {
			t.Errorf("%s is served as\n%s", name, got)
		}
	}
	want := strings.ReplaceAll(readFile(t, "page.html"), "{{dir}}", "")
	if got := body(t, h, "/any/prefix/"); got != want {
		t.Errorf("the page is served as\n%s", got)
	}
}

// Files returns exactly what is served besides the page, and so all that the scripts import.
func TestFiles(t *testing.T) {
	got := stats.Files()
	want := slices.DeleteFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return name == "" })
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("Files() is %q, want %q", got, want)
	}
	imports := regexp.MustCompile(`from '(.*?)'`)
	for _, name := range got {
		if filepath.Ext(name) != ".js" {
			continue
		}
		for _, found := range imports.FindAllStringSubmatch(readFile(t, name), -1) {
			if file, ok := strings.CutPrefix(found[1], "./"); !ok || !slices.Contains(got, file) {
				t.Errorf("%s imports %q, which is no file beside it", name, found[1])
			}
		}
	}
}

func TestAssetsAreSmall(t *testing.T) {
	const most = 60_000
	total := 0
	for _, name := range assetFiles(t) {
		total += len(readFile(t, name))
	}
	if total == 0 || total >= most {
		t.Errorf("the page and its files have %d bytes, want fewer than %d", total, most)
	}
}

var (
	attributes = regexp.MustCompile(`(?i)[\s"'/](on\w+|style|srcdoc|formaction)\s*=`)
	scripts    = regexp.MustCompile(`(?is)<script([^>]*)>(.*?)</script>`)
	addresses  = regexp.MustCompile(`(?i)(?:href|src|action|data|poster|content)="([^"]*)"`)
)

// The policy forbids inline code and other origins. A browser would leave these out, and
// report it only in its console.
func TestThePageNeedsNothingThatThePolicyForbids(t *testing.T) {
	page := readFile(t, "page.html")
	for _, found := range attributes.FindAllString(page, -1) {
		t.Errorf("the page has%s", found)
	}
	if strings.Contains(strings.ToLower(page), "<style") || strings.Contains(strings.ToLower(page), "<base") {
		t.Error("the page has a <style> or a <base>")
	}
	all := scripts.FindAllStringSubmatch(page, -1)
	if len(all) == 0 || len(all) != strings.Count(strings.ToLower(page), "<script") {
		t.Errorf("%d scripts are found", len(all))
	}
	for _, script := range all {
		if !strings.Contains(script[1], "src=") || strings.TrimSpace(script[2]) != "" {
			t.Errorf("a script is inline: %s", script[0])
		}
	}
	for _, address := range addresses.FindAllStringSubmatch(page, -1) {
		if a := address[1]; strings.Contains(a, "//") || strings.HasPrefix(a, "/") || strings.Contains(a, "javascript:") || strings.HasPrefix(a, "data:") {
			t.Errorf("the page leads to %q", a)
		}
	}
	// Nothing is fetched from elsewhere by the other files either. An address that
	// names a format of XML is fetched by nobody.
	elsewhere := regexp.MustCompile(`(?i)(https?:|wss?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s"'<)]*`)
	for _, name := range assetFiles(t) {
		for _, address := range elsewhere.FindAllString(readFile(t, name), -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") {
				t.Errorf("%s has the address %s", name, address)
			}
		}
	}
	for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "createContextualFragment", "setAttribute('style'", "cssText"} {
		for _, name := range assetFiles(t) {
			if strings.Contains(readFile(t, name), forbidden) {
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
		r.Add(stats.CacheSource{Name: nasty, Snapshot: always(distinct(0)), HotKeys: func() []stats.HotKey { return []stats.HotKey{{Key: nasty}} }})
	}
	r.RegisterWheel(nasty, always(distinctWheel(0)))
	h := r.Handler(stats.WithPurge(anybody))
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
		w := httptest.NewRecorder()
		odd.ServeHTTP(w, request)
		page := w.Body.String()
		if strings.Contains(page, "'onload") || strings.Contains(page, `a&quot;b`) || strings.Contains(page, `="//`) ||
			strings.Count(page, "<script") != 1 || strings.Contains(page, "{{") {
			t.Errorf("%s comes into the page as\n%s", path, page[:min(len(page), 500)])
		}
	}
}
