package harness

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// Tree is the root of the repository for the packages right below proof. The go command has
// results of tests in its cache, and does not see that a file has changed which is outside of
// the test's module. Through this link it is inside.
const Tree = "../testdata/tree"

// DependOnTree has the go command run the test anew when a file has changed anywhere in the
// repository. It is for tests that have another process read the files.
func DependOnTree(t *testing.T) {
	t.Helper()
	// The go command notes each folder that is read, with the sizes and times of its files.
	err := filepath.WalkDir(Tree+"/", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" && d.IsDir() {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
