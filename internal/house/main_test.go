package house

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// root is the root of the repository.
var root string

func TestMain(m *testing.M) {
	var err error
	if root, err = filepath.Abs("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}

// inRoot has a test go on in the root of the repository. TestMain must not go there: the go
// command is told only from m.Run on which files are read where, and has the results of tests
// in its cache until one of these files changes.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir(root)
}
