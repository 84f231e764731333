package main

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"

	chroma "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/yuin/goldmark"
	highlighting "github.com/yuin/goldmark-highlighting/v2"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Colours are classes, which style.css has for light and dark.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM, highlighting.NewHighlighting(
		highlighting.WithFormatOptions(chroma.WithClasses(true)))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// A section is what the search finds: a heading, and the text until the next one.
type section struct {
	Page    string `json:"page"`    // its title
	Heading string `json:"heading"` // empty before the first heading below the title
	Link    string `json:"link"`    // from the first folder
	Text    string `json:"text"`
}

// A rendered page, with what else the site needs of it.
type rendered struct {
	html     []byte
	sections []section
	pictures []string // files of the repository
}

// render makes HTML of the Markdown of a page.
func render(b *book, p *page, source []byte) (*rendered, error) {
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids{}))))
	r := new(rendered)
	current := &section{Page: p.title, Link: p.target}
	inHeading := false
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Kind() == ast.KindHeading {
			inHeading = entering
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			link, _ := b.link(p, string(n.Destination))
			n.Destination = []byte(link)
		case *ast.Image:
			picture := path.Join(path.Dir(p.source), string(n.Destination))
			r.pictures = append(r.pictures, picture)
			n.Destination = []byte(p.root() + picture)
		case *ast.Heading:
			if n.Level > 1 {
				r.sections = append(r.sections, *current)
				id, _ := n.AttributeString("id")
				current = &section{Page: p.title, Heading: plain(n, source), Link: fmt.Sprintf("%s#%s", p.target, id)}
			}
		case *ast.Text, *ast.String, *ast.FencedCodeBlock, *ast.CodeBlock:
			if !inHeading {
				current.Text = strings.TrimSpace(current.Text + " " + words(plain(n, source)))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	r.sections = append(r.sections, *current)
	var html bytes.Buffer
	if err := markdown.Renderer().Render(&html, source, tree); err != nil {
		return nil, err
	}
	// Wide tables scroll by themselves, so that a page never does.
	r.html = bytes.ReplaceAll(html.Bytes(), []byte("<table>"), []byte(`<div class="wide"><table>`))
	r.html = bytes.ReplaceAll(r.html, []byte("</table>"), []byte("</table></div>"))
	return r, nil
}

// plain returns the text of a node without marks.
func plain(n ast.Node, source []byte) string {
	switch n := n.(type) {
	case *ast.Text:
		return string(n.Segment.Value(source))
	case *ast.String:
		return string(n.Value)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return string(n.Lines().Value(source))
	}
	var all strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		all.WriteString(plain(child, source))
	}
	return all.String()
}

// words returns a text without the lines of a picture made of characters.
func words(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || r >= 0x2500 && r < 0x2600 // box drawing
	}), " ")
}

// ids names headings as GitHub does, since links of the pages rely on that: in lower case,
// without punctuation, and with a number if there are several. It counts the names of a page.
type ids map[string]int

// Generate implements parser.IDs.
func (seen ids) Generate(value []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, linkText.ReplaceAllString(strings.TrimSpace(string(value)), "$1"))
	n := seen[name]
	seen[name]++
	if n > 0 {
		return fmt.Appendf(nil, "%s-%d", name, n)
	}
	return []byte(name)
}

// Put implements parser.IDs.
func (seen ids) Put(value []byte) { seen[string(value)]++ }
