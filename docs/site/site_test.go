package main

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// built builds the site of the repository.
func built(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "site")
	if pages, err := build("../..", to); err != nil || pages < 40 {
		t.Fatalf("%d pages, %v", pages, err)
	}
	return to
}

// A document is what a page has: where it leads, and what can be led to.
type document struct {
	links []string
	ids   map[string]bool
	title string
}

// read reads the pages of a site, by their path.
func read(t *testing.T, site string) map[string]*document {
	t.Helper()
	all := map[string]*document{}
	err := fs.WalkDir(os.DirFS(site), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		f, err := os.Open(filepath.Join(site, name))
		if err != nil {
			return err
		}
		defer f.Close()
		root, err := html.Parse(f)
		if err != nil {
			return err
		}
		doc := &document{ids: map[string]bool{}}
		for n := range root.Descendants() {
			if n.Data == "title" && n.FirstChild != nil {
				doc.title = n.FirstChild.Data
			}
			for _, a := range n.Attr {
				switch a.Key {
				case "href", "src":
					doc.links = append(doc.links, a.Val)
				case "id":
					if doc.ids[a.Val] {
						t.Errorf("%s has two #%s", name, a.Val)
					}
					doc.ids[a.Val] = true
				}
			}
		}
		all[name] = doc
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// broken returns the links of a site that lead nowhere.
func broken(site string, documents map[string]*document) (problems []string) {
	for name, doc := range documents {
		for _, link := range doc.links {
			u, err := url.Parse(link)
			if err != nil {
				problems = append(problems, name+": "+err.Error())
				continue
			}
			if u.Scheme != "" {
				continue
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(site, target)); err != nil {
				problems = append(problems, name+" leads to "+link+", which is not there")
			} else if u.Fragment != "" && (documents[target] == nil || !documents[target].ids[u.Fragment]) {
				problems = append(problems, name+" leads to "+link+", and there is no such heading")
			}
		}
	}
	return problems
}

// Every page is there with its title, and every link leads somewhere.
//
// Catches: headings that are named otherwise than on GitHub, a picture that is not copied, a
// folder whose README is not its page.
func TestSite(t *testing.T) {
	site := built(t)
	documents := read(t, site)
	for _, problem := range broken(site, documents) {
		t.Error(problem)
	}
	for name, title := range map[string]string{
		"index.html": "pinwheel", "docs/index.html": "Documentation · pinwheel",
		"docs/near.html": "Near caches · pinwheel", "cmd/cachesim/index.html": "cachesim · pinwheel",
	} {
		if doc := documents[name]; doc == nil || doc.title != title {
			t.Errorf("%s is %+v, want the title %q", name, doc, title)
		}
	}
	if !documents["docs/guarantees.html"].ids["what-a-read-finds"] {
		t.Error("a heading that the README links to is not there")
	}
}

// Catches: a heading that is named otherwise than on GitHub, and text of a picture in the search.
func TestHeadings(t *testing.T) {
	b := &book{bySource: map[string]*page{}, files: os.DirFS(t.TempDir())}
	r, err := render(b, &page{source: "a.md", target: "a.html", title: "A"}, []byte(
		"# A\n\nfirst\n\n## What `Get` does: a [link](https://example.com)\n\n## Twice\n\none\n\n```\n├── two ──┐\n```\n\n## Twice\n\nthree\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []section{
		{"A", "", "a.html", "first"},
		{"A", "What Get does: a link", "a.html#what-get-does-a-link", ""},
		{"A", "Twice", "a.html#twice", "one two"},
		{"A", "Twice", "a.html#twice-1", "three"},
	}
	if !slices.Equal(r.sections, want) {
		t.Errorf("%q, want %q", r.sections, want)
	}
}

// Catches: a check of links that finds nothing wrong whatever it is given.
func TestLinksAreReallyChecked(t *testing.T) {
	site := t.TempDir()
	text := `<h1 id=a>A</h1> <a href=#a>1</a> <a href=https://example.com/>2</a> <a href=#b>bad</a> <a href=no.html>bad</a> <img src=no.png>`
	if err := write(site, "index.html", []byte(text)); err != nil {
		t.Fatal(err)
	}
	if problems := broken(site, read(t, site)); len(problems) != 3 {
		t.Errorf("broken are %q, want the 3 bad ones", problems)
	}
}

// Catches: a build into the wrong folder that removes what is there.
func TestForeignFolder(t *testing.T) {
	to := t.TempDir()
	if err := write(to, "mine.txt", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if _, err := build("../..", to); err == nil || !strings.Contains(err.Error(), "choose an empty folder") {
		t.Errorf("%v, want that it is refused", err)
	}
	if _, err := os.Stat(filepath.Join(to, "mine.txt")); err != nil {
		t.Error(err)
	}
	if _, err := build(to, filepath.Join(to, "site")); err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("%v, want that there is no repository", err)
	}
}

// A second build leaves nothing of the first.
func TestBuildAgain(t *testing.T) {
	site := built(t)
	if err := write(site, "docs/gone.html", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := build("../..", site); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(site, "docs/gone.html")); err == nil {
		t.Error("a page of the first build is there")
	}
}

// The search finds a heading by its words, in a page that was opened as a file.
//
// Catches: a script with a mistake, an index that the script does not understand.
func TestSearchInABrowser(t *testing.T) {
	chromium := findChromium(t)
	site := built(t)
	for query, want := range map[string]string{
		"warm restart":       `<a href="docs/freshness.html#a-warm-restart">`,
		"nobody wrote this.": "Nothing has",
	} {
		page := "file://" + filepath.Join(site, "index.html") + "?q=" + url.QueryEscape(query)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		// The virtual time is that of the page: it waits for the script of the index.
		out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
			"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--user-data-dir="+t.TempDir(), "--virtual-time-budget=20000", "--dump-dom", page).Output()
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("%q: the page has not %s", query, want)
		}
	}
}

// findChromium returns the program. CI installs it.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	t.Skip("NOT TESTED: the search in a browser. There is no chromium, chromium-browser or google-chrome; on Debian, apt-get install chromium")
	return ""
}
