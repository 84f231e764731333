package migration

import (
	"fmt"
	"go/build"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	document = "../../docs/migration.md"
	self     = "github.com/pinwheel-cache/pinwheel/bench/migration/testdata/"
)

// marker matches the line before a Go block, which names the file with the same code.
var marker = regexp.MustCompile(`^<!-- bench/migration/testdata/(after/\w+\.go) -->$`)

// TestBlocks proves that every Go block of the document compiles: but for the package
// clause, each is a file of a package that this test imports. The document links to the
// files that it does not show.
func TestBlocks(t *testing.T) {
	shown := make(map[string]bool)
	for _, b := range readBlocks(t) {
		switch {
		case b.file == "":
			t.Errorf("%s: a Go block without a line <!-- bench/migration/testdata/FILE --> right before it", b.at(0))
		case shown[b.file]:
			t.Errorf("%s: %s is shown twice", b.at(0), b.file)
		default:
			compare(t, b)
		}
		shown[b.file] = true
	}
	compiled := compiledFiles(t)
	for file := range shown {
		if file != "" && !slices.Contains(compiled, file) {
			t.Errorf("%s is not compiled into this test", file)
		}
	}
	text := read(t)
	for _, file := range compiled {
		if !shown[file] && !strings.Contains(text, "](../bench/migration/testdata/"+file+")") {
			t.Errorf("%s neither shows %s nor links to it", document, file)
		}
	}
}

// A block is a Go block of the document.
type block struct {
	file  string // with the same code
	line  int    // of its first line of code in the document, counted from 1
	lines []string
}

func (b block) at(i int) string {
	return fmt.Sprintf("%s:%d", strings.TrimPrefix(document, "../../"), b.line+i)
}

func read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readBlocks returns the Go blocks of the document. A fence that is neither ```go nor
// ```diff is an error, so that no block escapes.
func readBlocks(t *testing.T) []block {
	t.Helper()
	var blocks []block
	lines := strings.Split(read(t), "\n")
	for i := 0; i < len(lines); i++ {
		fence, language := lines[i], ""
		if !strings.HasPrefix(strings.TrimSpace(fence), "```") {
			continue
		}
		language = strings.TrimPrefix(fence, "```")
		if language != "go" && language != "diff" {
			t.Errorf("%s:%d: a block that begins with %q: want ```go or ```diff", document, i+1, fence)
		}
		b := block{line: i + 2}
		if m := marker.FindStringSubmatch(lines[max(i-1, 0)]); m != nil {
			b.file = m[1]
		}
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			b.lines = append(b.lines, lines[i])
		}
		if language == "go" {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// compare reports the first line in which a block and its file differ.
func compare(t *testing.T, b block) {
	t.Helper()
	source, err := os.ReadFile("testdata/" + b.file)
	if err != nil {
		t.Errorf("%s: %v", b.at(0), err)
		return
	}
	clause := "package " + path.Dir(b.file) + "\n\n"
	code, ok := strings.CutPrefix(string(source), clause)
	if !ok {
		t.Errorf("%s does not begin with %q", b.file, clause)
		return
	}
	want := strings.Split(strings.TrimSuffix(code, "\n"), "\n")
	for i := range max(len(want), len(b.lines)) {
		if got, want := lineOf(b.lines, i), lineOf(want, i); got != want {
			t.Errorf("%s: %q, but %s:%d, which is what compiles, has %q", b.at(i), got, b.file, i+3, want)
			return
		}
	}
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// compiledFiles returns the files of packages before and after that are compiled into this
// test, which imports both.
func compiledFiles(t *testing.T) []string {
	t.Helper()
	here, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, dir := range []string{"before", "after"} {
		if !slices.Contains(here.TestImports, self+dir) {
			t.Errorf("the tests of package migration do not import %s", dir)
		}
		pkg, err := build.ImportDir("testdata/"+dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.GoFiles {
			if name != "doc.go" {
				files = append(files, dir+"/"+name)
			}
		}
	}
	return files
}
