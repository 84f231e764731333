package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

//go:embed layout.html
var layoutHTML string

//go:embed style.css page.js
var assets embed.FS

var layout = template.Must(template.New("layout").Parse(layoutHTML))

// marker is in every site that build has made. A folder without it is not replaced, as
// somebody else's files would be lost.
const marker = ".pinwheel-site"

// build writes the site of the repository in a folder, and returns how many pages it has.
func build(from, to string) (int, error) {
	book, err := readBook(from)
	if err != nil {
		return 0, err
	}
	if err := empty(to); err != nil {
		return 0, err
	}
	writer := site{from: from, to: to, book: book}
	var sections []section
	for _, p := range book.pages {
		found, err := writer.page(p)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", p.source, err)
		}
		sections = append(sections, found...)
	}
	return len(book.pages), writer.rest(sections)
}

// empty makes a folder, or removes what an earlier build has left in it.
func empty(to string) error {
	entries, err := os.ReadDir(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case len(entries) > 0 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == marker }):
		return fmt.Errorf("%s has files that are not of a site: choose an empty folder by -o", to)
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return write(to, marker, nil)
}

// A site is one that is being written.
type site struct {
	from, to string
	book     *book
}

// page writes a page and the pictures that it shows, and returns its sections for the search.
func (s *site) page(p *page) ([]section, error) {
	text, err := os.ReadFile(filepath.Join(s.from, filepath.FromSlash(p.source)))
	if err != nil {
		return nil, err
	}
	rendered, err := render(s.book, p, text)
	if err != nil {
		return nil, err
	}
	for _, picture := range rendered.pictures {
		data, err := os.ReadFile(filepath.Join(s.from, filepath.FromSlash(picture)))
		if err != nil {
			return nil, err
		}
		if err := write(s.to, picture, data); err != nil {
			return nil, err
		}
	}
	var html bytes.Buffer
	err = layout.Execute(&html, struct {
		Title  string
		Root   string // the way from the page to the first folder
		Groups []navGroup
		Body   template.HTML
		Source string
	}{p.title, p.root(), s.book.navigation(p), template.HTML(rendered.html), repository + "/blob/main/" + p.source})
	if err != nil {
		return nil, err
	}
	return rendered.sections, write(s.to, p.target, html.Bytes())
}

// rest writes what is not a page: style, script, and what the search looks in.
func (s *site) rest(sections []section) error {
	index, err := json.Marshal(sections)
	if err != nil {
		return err
	}
	// A script and not JSON: a page that was opened as a file must not fetch.
	if err := write(s.to, "index.js", slices.Concat([]byte("index = "), index, []byte("\n"))); err != nil {
		return err
	}
	for _, name := range []string{"style.css", "page.js"} {
		data, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		if err := write(s.to, name, data); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file, with its folders.
func write(to, name string, data []byte) error {
	file := filepath.Join(to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
