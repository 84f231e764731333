package pinwheel_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
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
// proof, a link to a file or heading that has moved, a first page that grows.
func TestDocs(t *testing.T) {
	tests := testFolders(t)
	for file, text := range documents(t) {
		for _, name := range citedTests(text) {
			if !cited(name, tests) {
				t.Errorf("%s cites %s, and there is no such test", file, name)
			}
		}
		for _, problem := range brokenLinks(file, text) {
			t.Error(problem)
		}
		if n := len(strings.Fields(text)); file == "README.md" && n >= 1000 {
			t.Errorf("README.md has %d words: want a page of less than 1000", n)
		}
	}
}

// TestGuarantees checks the tests that docs/guarantees.md names: each with its folder, as others
// may have a test of that name; marked if only make full runs it; and never skipped where
// everything is installed.
//
// Catches: a promise whose test was removed, has left the gate, or runs nowhere.
func TestGuarantees(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	must(t, err)
	full, skipping := onlyFull(t), skippingTests(t)
	n := 0
	for _, m := range regexp.MustCompile("`([a-z/]+\\.)?((?:Test|Fuzz)[A-Z]\\w*)`( \\(full\\))?").FindAllStringSubmatch(string(text), -1) {
		folder := strings.TrimSuffix(m[1], ".")
		inFull := slices.ContainsFunc(full, func(f string) bool { return within(folder, f) })
		switch name := m[1] + m[2]; {
		case folder == "":
			t.Errorf("%s has no folder: want as in `cache.%s`", name, name)
		case inFull != (m[3] != ""):
			t.Errorf("only make full runs %s: %t, and it is marked (full): %t", name, inFull, m[3] != "")
		case slices.Contains(skipping[m[2]], folder):
			t.Errorf("%s may skip itself", name)
		}
		n++
	}
	if n < 200 {
		t.Errorf("only %d tests are named", n)
	}
}

var (
	skips      = regexp.MustCompile(`(?m)^.*\bt\.Skip.*$`)
	shortGuard = regexp.MustCompile(`(?s)if testing\.Short\(\) \{\s*t\.Skip[^\n]*\n\s*\}`)
)

// skippingTests returns the tests that skip themselves for another reason than -short, which
// neither the gate nor full gives, with their folders.
func skippingTests(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	walkFiles(t, "_test.go", func(path string, text []byte) {
		at := testFunc.FindAllSubmatchIndex(text, -1)
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			if skips.Match(shortGuard.ReplaceAll(text[m[0]:end], nil)) {
				name := string(text[m[2]:m[3]])
				found[name] = append(found[name], filepath.ToSlash(filepath.Dir(path)))
			}
		}
	})
	return found
}

// onlyFull returns the folders whose tests the gate leaves out.
func onlyFull(t *testing.T) (folders []string) {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	must(t, err)
	for _, m := range regexp.MustCompile(`(?m)^(?:heavy|foreign) = (.*)$`).FindAllStringSubmatch(string(text), -1) {
		folders = append(folders, strings.Fields(m[1])...)
	}
	if len(folders) < 8 {
		t.Fatalf("the Makefile leaves out %q", folders)
	}
	return folders
}

// Catches: a check that finds nothing wrong whatever it is given.
func TestDocsAreReallyChecked(t *testing.T) {
	if files := documents(t); len(files) < 10 || files["README.md"] == "" || files["docs/guarantees.md"] == "" {
		t.Errorf("the documents are %v", slices.Sorted(maps.Keys(files)))
	}
	tests := testFolders(t)
	for _, name := range []string{"TestDocs", "TestKeyedModel", "TestChangeDuringLoad"} { // also of packages, and of bench
		if tests[name] == nil {
			t.Errorf("%s is not among the tests", name)
		}
	}
	text := "see `TestDocs`, `TestDocsAre…`, `cache.TestModel`, `proof/lincheck.TestModel`, `TestNowhere`, `TestNowhere…`, `FuzzNothing` and `cache.TestDocs`\n```\n`TestInCode`\n```\n"
	var missing []string
	for _, name := range citedTests(text) {
		if !cited(name, tests) {
			missing = append(missing, name)
		}
	}
	if want := []string{"TestNowhere", "TestNowhere…", "FuzzNothing", "cache.TestDocs"}; !slices.Equal(missing, want) {
		t.Errorf("missing are %v, want %v", missing, want)
	}
	text = "# A heading, with `code`\n## Twice\n## Twice\n" +
		"[1](#a-heading-with-code) [2](#twice-1) [3](../README.md#figures) [4](../cache) [5](https://example.com/none) `[6](none)`\n" +
		"[bad](#twice-2) [bad](none.md) [bad](../README.md#none) [bad](../cache/none.go) ![bad](none.svg)\n"
	if problems := brokenLinks("docs/example.md", text); len(problems) != 5 {
		t.Errorf("broken are %q, want the 5 bad ones", problems)
	}
}

// TestSnippets looks for the Go code of all documents, and of the comments that users see, in
// examples/snippets, where it is compiled. That of docs/migration.md is in bench/migration.
//
// Catches: a snippet with a name that was renamed, or that does not compile.
func TestSnippets(t *testing.T) {
	compiled := ""
	walkFiles(t, "_test.go", func(path string, text []byte) {
		if strings.HasPrefix(path, "examples/snippets/") {
			compiled += "\n" + unspaced(string(text)) + "\n"
		}
	})
	migrated, err := filepath.Glob("bench/migration/after/*.go")
	must(t, err)
	for _, file := range migrated {
		text, err := os.ReadFile(file)
		must(t, err)
		compiled += "\n" + unspaced(string(text)) + "\n"
	}
	found := 0
	texts := documents(t)
	maps.Copy(texts, commented(t))
	for file, text := range texts {
		for _, part := range snippets(text) {
			if found++; !strings.Contains(compiled, "\n"+part+"\n") {
				t.Errorf("%s has Go code that examples/snippets has not, so that nothing compiles it:\n%s", file, part)
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d parts of Go code", found)
	}
}

// Catches: a search that finds nothing, or half of a snippet.
func TestSnippetsAreFound(t *testing.T) {
	got := snippets("```go\na  := 1 // x\n\tb()\n\n\nc()\n...\nd()\n```\n```sh\necho\n```\n")
	if want := []string{"a := 1\nb()", "c()", "d()"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = snippets(codeOfComments(t, "// Package x\n//\n//\ta()\n//\n//\tgo run .\npackage x\n\n"+
		"// A T\n//\n//\tName: x\n//\n// and\n//\n//\tb :=  1\ntype T struct{}\n\n// f\n//\n//\tc()\nfunc f() {}\n"))
	if want := []string{"a()", "b := 1"}; !slices.Equal(got, want) {
		t.Errorf("in comments: %q, want %q", got, want)
	}
}

// commented returns the Go code in the comments of what packages export, by the path of the file.
func commented(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	walkFiles(t, ".go", func(path string, text []byte) {
		if !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "internal/") {
			files[path] = codeOfComments(t, string(text))
		}
	})
	return files
}

// codeOfComments returns the Go code in the comments of what a file exports, as a document has it.
func codeOfComments(t *testing.T, source string) (blocks string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments)
	must(t, err)
	ast.FileExports(file)
	ast.Inspect(file, func(n ast.Node) bool {
		if group, ok := n.(*ast.CommentGroup); ok {
			for _, block := range new(comment.Parser).Parse(group.Text()).Content {
				if code, ok := block.(*comment.Code); ok {
					blocks += goOf(code.Text)
				}
			}
		}
		return true
	})
	return blocks
}

// goOf returns a text, or those parts of it that are Go code, as blocks of a document.
func goOf(text string) (blocks string) {
	parts := []string{text}
	if !isGo(text) {
		parts = gap.Split(text, -1)
	}
	for _, part := range parts {
		if isGo(part) {
			blocks += "```go\n" + part + "```\n"
		}
	}
	return blocks
}

// isGo reports whether a text is Go code, and not a command, YAML or a table.
func isGo(text string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+gap.ReplaceAllString(text, "")+"}", 0)
	if err != nil {
		return false
	}
	calls := true
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.ExprStmt); ok {
			_, call := s.X.(*ast.CallExpr)
			calls = calls && call
		}
		return true
	})
	return calls
}

var (
	goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	gap     = regexp.MustCompile(`(?m)^(?:\.\.\.)?\n`)
	remark  = regexp.MustCompile(`\s// .*`)
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

// unspaced returns code without comments behind it, and without the space that gofmt puts in.
func unspaced(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		lines = append(lines, strings.Join(strings.Fields(remark.ReplaceAllString(line, "")), " "))
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

// testFolders returns the folders that have a test of a name.
func testFolders(t *testing.T) map[string][]string {
	t.Helper()
	folders := map[string][]string{}
	walkFiles(t, "_test.go", func(path string, text []byte) {
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			folders[string(m[1])] = append(folders[string(m[1])], filepath.ToSlash(filepath.Dir(path)))
		}
	})
	return folders
}

// walkFiles calls f for every file of the repository whose name ends in a suffix.
func walkFiles(t *testing.T, suffix string, f func(path string, text []byte)) {
	t.Helper()
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
	must(t, err)
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	testName  = regexp.MustCompile("`((?:[a-z]+(?:/[a-z]+)*\\.)?(?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*…?)`")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// citedTests returns the names of tests that a document has in backquotes, perhaps with a
// folder, as in cache.TestModel. One that ends in … stands for all that begin so.
func citedTests(text string) (names []string) {
	for _, m := range testName.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		names = append(names, m[1])
	}
	return names
}

// cited reports whether there is a test of that name, in the folder before it, if any.
func cited(name string, tests map[string][]string) bool {
	folder, test, qualified := strings.Cut(name, ".")
	if !qualified {
		folder, test = "", name
	}
	prefix, several := strings.CutSuffix(test, "…")
	for name, folders := range tests {
		if (name == test || several && strings.HasPrefix(name, prefix)) && (!qualified || slices.Contains(folders, folder)) {
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

// must ends a test with an error that it did not expect.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLocksAndArrays checks that CONTRIBUTING.md names every lock of the library, and every array
// of a shard of the cache.
//
// Catches: a new lock whose order nobody has written down, a new array that the table lacks.
func TestLocksAndArrays(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	must(t, err)
	_, locks, _ := strings.Cut(string(text), "## The locks")
	_, arrays, _ := strings.Cut(string(text), "| array |")
	arrays, _, _ = strings.Cut(arrays, "\n\n")
	isLock := regexp.MustCompile(`^(sync\.(RW)?Mutex|biased\.Lock)$`)
	isArray := regexp.MustCompile(`^\[\]|^index\.Index$|^eviction\.Policy$|^\*ring\.Ring$`)
	nLocks, nArrays := 0, 0
	eachField(t, func(file, field, kind string) {
		switch owner, name, _ := strings.Cut(field, "."); {
		case isLock.MatchString(kind):
			nLocks++
			if !strings.Contains(locks, "`"+field+"`") {
				t.Errorf("CONTRIBUTING.md does not name the lock `%s` of %s", field, file)
			}
		case strings.HasPrefix(file, "cache/") && slices.Contains([]string{"shard", "slots", "lives", "turn", "pending", "tally"}, owner) && isArray.MatchString(kind):
			nArrays++
			if !strings.Contains(arrays, "\n| `"+name+"`") {
				t.Errorf("CONTRIBUTING.md has no row for the array `%s`", name)
			}
		}
	})
	if nLocks < 20 || nArrays < 8 {
		t.Errorf("%d locks and %d arrays: does this test look for the right thing?", nLocks, nArrays)
	}
}

// eachField calls f for the fields of all structs of the library and its modules, but in tests and
// what is for tests: with its file, its name as in "shard.lock", and its type.
func eachField(t *testing.T, f func(file, field, kind string)) {
	t.Helper()
	library := regexp.MustCompile(`^(cache|timingwheel|lru|stats|internal|near|gozero|otel|prometheus)/`)
	walkFiles(t, ".go", func(path string, text []byte) {
		if !library.MatchString(path) || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "redistest") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		must(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						f(path, spec.Name.Name+"."+name.Name, types.ExprString(field.Type))
					}
				}
			}
			return true
		})
	})
}
