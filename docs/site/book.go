package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// repository is where links to code lead.
const repository = "https://github.com/pinwheel-cache/pinwheel"

// A page is a Markdown file of the repository. Paths have slashes, and begin at its root.
type page struct {
	source string // docs/near.md
	target string // docs/near.html
	title  string // its first heading
	group  string // under which the navigation has it
}

// root returns the way from the page to the first folder of the site.
func (p *page) root() string {
	return strings.Repeat("../", strings.Count(p.target, "/"))
}

// A book is all pages, in the order of the navigation.
type book struct {
	pages    []*page
	bySource map[string]*page
	files    fs.FS
}

// The groups of the navigation, in their order.
const (
	groupStart   = "Start"
	groupGuides  = "Guides"
	groupProgram = "Programs"
	groupProject = "Project"
	groupResults = "Measurements"
)

var groups = []string{groupStart, groupGuides, groupProgram, groupProject, groupResults}

// contents is the page whose links say in which order the guides come.
const contents = "docs/README.md"

// readBook finds all pages of a repository.
func readBook(from string) (*book, error) {
	b := &book{bySource: map[string]*page{}, files: os.DirFS(from)}
	err := fs.WalkDir(b.files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "dist"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		return b.add(name)
	})
	if err != nil {
		return nil, err
	}
	if b.bySource["README.md"] == nil || b.bySource[contents] == nil {
		return nil, fmt.Errorf("%s is not the repository: README.md or %s is missing", from, contents)
	}
	return b, b.sort()
}

var firstHeading = regexp.MustCompile(`(?m)^# +(.*)$`)

func (b *book) add(source string) error {
	text, err := fs.ReadFile(b.files, source)
	if err != nil {
		return err
	}
	heading := firstHeading.FindSubmatch(text)
	if heading == nil {
		return fmt.Errorf("%s has no heading: begin it with a line such as \"# Title\"", source)
	}
	p := &page{source: source, title: strings.ReplaceAll(string(heading[1]), "`", ""), group: groupOf(source)}
	if dir, name := path.Split(source); name == "README.md" {
		p.target = dir + "index.html"
	} else {
		p.target = strings.TrimSuffix(source, ".md") + ".html"
	}
	b.pages = append(b.pages, p)
	b.bySource[source] = p
	return nil
}

func groupOf(source string) string {
	switch top, _, _ := strings.Cut(source, "/"); {
	case source == "README.md" || source == contents:
		return groupStart
	case top == "docs":
		return groupGuides
	case top == "cmd" || top == "examples":
		return groupProgram
	case top == "bench" || top == "proof":
		return groupResults
	}
	return groupProject
}

var linkTarget = regexp.MustCompile(`\]\(([^)#\s]+\.md)`)

// linkText finds links in the text of a heading, of which only the text counts.
var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// sort brings the pages into order: by group, the guides as the contents name them, others by
// their path.
func (b *book) sort() error {
	text, err := fs.ReadFile(b.files, contents)
	if err != nil {
		return err
	}
	place := map[string]int{}
	for _, m := range linkTarget.FindAllSubmatch(text, -1) {
		source := path.Join(path.Dir(contents), string(m[1]))
		if _, again := place[source]; !again {
			place[source] = len(place) + 1
		}
	}
	rank := func(p *page) int {
		if n, named := place[p.source]; named {
			return n
		}
		return len(place) + 1
	}
	slices.SortFunc(b.pages, func(x, y *page) int {
		return cmp.Or(
			cmp.Compare(slices.Index(groups, x.group), slices.Index(groups, y.group)),
			cmp.Compare(rank(x), rank(y)),
			cmp.Compare(x.source, y.source))
	})
	return nil
}

// A navGroup is a part of the navigation as one page shows it.
type navGroup struct {
	Name  string
	Open  bool // the page is in it
	Pages []navPage
}

type navPage struct {
	Title, Link string
	Here        bool
}

// navigation returns the navigation for a page.
func (b *book) navigation(here *page) []navGroup {
	var all []navGroup
	for _, name := range groups {
		g := navGroup{Name: name, Open: name == here.group || name == groupGuides}
		for _, p := range b.pages {
			if p.group == name {
				g.Pages = append(g.Pages, navPage{navTitle(p), here.root() + p.target, p == here})
			}
		}
		all = append(all, g)
	}
	return all
}

// navTitle returns the title of a page in the navigation. Results have the same titles each
// time, so their date comes first.
func navTitle(p *page) string {
	if dated := strings.TrimPrefix(p.source, "bench/results/"); dated != p.source && strings.Contains(dated, "/") {
		return path.Dir(dated) + ": " + p.title
	}
	return p.title
}

// link returns where a link of a page leads in the site, and the picture or page that must be
// there.
func (b *book) link(p *page, destination string) (link string, to *page) {
	file, anchor, _ := strings.Cut(destination, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	if strings.Contains(file, ":") || file == "" {
		return destination, nil
	}
	file = path.Join(path.Dir(p.source), file)
	for _, source := range []string{file, path.Join(file, "README.md")} {
		if to := b.bySource[source]; to != nil {
			return p.root() + to.target + anchor, to
		}
	}
	kind := "blob"
	if info, err := fs.Stat(b.files, filepath.ToSlash(file)); err == nil && info.IsDir() {
		kind = "tree"
	}
	return repository + "/" + kind + "/main/" + file + anchor, nil
}
