package house

import (
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestDocs checks that the tests and links that documents name exist.
//
// Catches: a test that was renamed or removed while a document still cites it as
// proof, a link to a file or heading that has moved.
func TestDocs(t *testing.T) {
	tests := testNames(t)
	for file, text := range documents(t) {
		for _, name := range citedTests(text) {
			if !cited(name, tests) {
				t.Errorf("%s cites %s, and there is no such test", file, name)
			}
		}
		for _, problem := range brokenLinks(file, text) {
			t.Error(problem)
		}
	}
}

// Catches: a check that finds nothing wrong whatever it is given.
func TestDocsAreReallyChecked(t *testing.T) {
	if files := documents(t); len(files) < 10 || files["README.md"] == "" || files["docs/guarantees.md"] == "" {
		t.Errorf("the documents are %v", slices.Sorted(maps.Keys(files)))
	}
	tests := testNames(t)
	for _, name := range []string{"TestDocs", "TestKeyedModel", "TestSyncMapNaN"} { // also of packages, and of bench
		if !tests[name] {
			t.Errorf("%s is not among the tests", name)
		}
	}
	text := "see `TestDocs`, `TestDocsAre…`, `TestNowhere`, `TestNowhere…` and `FuzzNothing`\n```\n`TestInCode`\n```\n"
	var missing []string
	for _, name := range citedTests(text) {
		if !cited(name, tests) {
			missing = append(missing, name)
		}
	}
	if want := []string{"TestNowhere", "TestNowhere…", "FuzzNothing"}; !slices.Equal(missing, want) {
		t.Errorf("missing are %v, want %v", missing, want)
	}
	text = "# A heading, with `code`\n## Twice\n## Twice\n" +
		"[1](#a-heading-with-code) [2](#twice-1) [3](../README.md#figures) [4](../cache) [5](https://example.com/none) `[6](none)`\n" +
		"[bad](#twice-2) [bad](none.md) [bad](../README.md#none) [bad](../cache/none.go) ![bad](none.svg)\n"
	if problems := brokenLinks("docs/example.md", text); len(problems) != 5 {
		t.Errorf("broken are %q, want the 5 bad ones", problems)
	}
}

// TestSnippets looks for the Go code of all documents, and of the documentation of packages, in
// examples/snippets, where it is compiled.
//
// Catches: a snippet with a name that was renamed, or that does not compile.
func TestSnippets(t *testing.T) {
	compiled := ""
	walkFiles(t, "_test.go", func(path string, text []byte) {
		if strings.HasPrefix(path, "examples/snippets/") {
			compiled += "\n" + unspaced(string(text)) + "\n"
		}
	})
	check := func(file string, parts []string) int {
		for _, part := range parts {
			if !holds(compiled, part) {
				t.Errorf("%s has Go code that examples/snippets has not, so that nothing compiles it:\n%s", file, part)
			}
		}
		return len(parts)
	}
	found, inComments := 0, 0
	for file, text := range documents(t) {
		if file != "docs/start.md" { // whole programs, which proof/release runs
			found += check(file, snippets(text))
		}
	}
	walkFiles(t, ".go", func(path string, text []byte) {
		if !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "internal/") {
			inComments += check(path, commented(t, path, text))
		}
	})
	if found < 25 || inComments < 15 {
		t.Errorf("found only %d parts of Go code in documents and %d in comments", found, inComments)
	}
}

// holds reports whether a part is in the code that is compiled: as lines of their own, or at
// the end of one that returns it.
func holds(compiled, part string) bool {
	return strings.Contains(compiled, "\n"+part+"\n") ||
		strings.Contains(compiled, "\nreturn "+part+"\n") || strings.Contains(compiled, "\nreturn "+part+", nil\n")
}

// commented returns the Go code in the comments of a file, in parts: indented text that Go can
// parse, as statements or declarations.
func commented(t *testing.T, path string, text []byte) (parts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		for _, block := range new(comment.Parser).Parse(group.Text()).Content {
			code, ok := block.(*comment.Code)
			if !ok {
				continue
			}
			for _, part := range gap.Split(code.Text, -1) {
				if part = unspaced(part); parses(part) {
					parts = append(parts, part)
				}
			}
		}
	}
	return parts
}

// parses reports whether a text is Go code, and more than a string.
func parses(part string) bool {
	if part == "" || strings.HasPrefix(part, `"`) {
		return false
	}
	for _, code := range []string{"package p\n" + part, "package p\nfunc _() {\n" + part + "\n}"} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", code, 0); err == nil {
			return true
		}
	}
	return false
}

// Catches: a search that finds nothing, or half of a snippet.
func TestSnippetsAreFound(t *testing.T) {
	got := snippets("```go\na  := 1 // x\n\tb()\n\n\nc()\n...\nd()\n```\n```sh\necho\n```\n")
	if want := []string{"a := 1 // x\nb()", "c()", "d()"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = commented(t, "p.go", []byte("// Package p says:\n//\n//\ta  := 1\n//\tb()\n//\t...\n//\tc()\n//\n// And\n//\n//\tgo run ./p\n//\n//\t\"p\"\npackage p\n"))
	if want := []string{"a := 1\nb()", "c()"}; !slices.Equal(got, want) {
		t.Errorf("in comments %q, want %q", got, want)
	}
}

var (
	goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	gap     = regexp.MustCompile(`(?m)^(?:\.\.\.)?\n`)
)

// snippets returns the Go code of a document in parts: an empty line, or one of three
// dots, may stand for other code.
func snippets(text string) (parts []string) {
	for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
		for _, part := range gap.Split(block[1], -1) {
			if part = unspaced(part); part != "" {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// unspaced returns code without the space that gofmt puts in.
func unspaced(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// documents returns the text of all Markdown files, and of llms.txt, by their path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, suffix := range []string{".md", "llms.txt"} {
		walkFiles(t, suffix, func(path string, text []byte) { files[path] = string(text) })
	}
	return files
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)

// testNames returns the names of all tests, also in the other modules.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	walkFiles(t, "_test.go", func(_ string, text []byte) {
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
	})
	return names
}

// walkFiles calls f for every file of the repository whose name ends in a suffix.
func walkFiles(t *testing.T, suffix string, f func(path string, text []byte)) {
	t.Helper()
	inRoot(t)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, suffix):
			return nil
		}
		text, err := os.ReadFile(path)
		f(filepath.ToSlash(path), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	testName  = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*…?)`")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// citedTests returns the names of tests that a document has in backquotes. One that
// ends in … stands for all that begin so.
func citedTests(text string) (names []string) {
	for _, m := range testName.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		names = append(names, m[1])
	}
	return names
}

// cited reports whether there is a test of that name.
func cited(name string, tests map[string]bool) bool {
	prefix, several := strings.CutSuffix(name, "…")
	if !several {
		return tests[name]
	}
	for test := range tests {
		if strings.HasPrefix(test, prefix) {
			return true
		}
	}
	return false
}

// brokenLinks returns what is wrong with the links of a document to files of the
// repository and to headings.
func brokenLinks(file, text string) (problems []string) {
	text = codeBlock.ReplaceAllString(text, "")
	for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(text, "code"), -1) {
		if strings.Contains(m[1], ":") { // another site
			continue
		}
		path, anchor, _ := strings.Cut(m[1], "#")
		target := text
		if path != "" {
			path = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
			if _, err := os.Stat(path); err != nil {
				problems = append(problems, fmt.Sprintf("%s links to %s: %v", file, m[1], err))
				continue
			}
			if filepath.Ext(path) != ".md" {
				continue
			}
			content, err := os.ReadFile(path)
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			target = codeBlock.ReplaceAllString(string(content), "")
		}
		if anchor != "" && !anchors(target)[anchor] {
			problems = append(problems, fmt.Sprintf("%s links to %s: there is no such heading", file, m[1]))
		}
	}
	return problems
}

// anchors returns what the headings of a document are called in links: as by GitHub,
// in lower case, without punctuation, and with a number if there are several.
func anchors(text string) map[string]bool {
	seen := map[string]int{}
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linkText.ReplaceAllString(strings.TrimSpace(m[1]), "$1"))
		if n := seen[name]; n > 0 {
			all[fmt.Sprintf("%s-%d", name, n)] = true
		} else {
			all[name] = true
		}
		seen[name]++
	}
	return all
}

// TestREADMEIsShort catches a first page that grows: what is new belongs behind a link.
func TestREADMEIsShort(t *testing.T) {
	const most = 1000
	if words := len(strings.Fields(documents(t)["README.md"])); words == 0 || words >= most {
		t.Errorf("README.md has %d words, want fewer than %d", words, most)
	}
}
