// Pinwheel-move rewrites a program from another cache to pinwheel's, where that keeps its
// meaning, and says in a comment why where it does not:
//
//	go install github.com/pinwheel-cache/pinwheel/cmd/pinwheel-move@latest
//	go get github.com/pinwheel-cache/pinwheel
//	pinwheel-move -diff ./...
//	pinwheel-move ./...
//	go mod tidy
//
// It knows go-cache, golang-lru v2 and its expirable, ttlcache v3, ristretto v2, otter v2, go-zero's
// collection.Cache and sturdyc. All uses of a library in a package, and in packages that pass
// its caches to each other, move together or stay. The README lists what it moves.
//
// It refuses to write into a Git working tree with changes other than go.mod's and go.sum's,
// unless -force is given. It exits with 0 if it could do its work, also where something stays.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	diff := flag.Bool("diff", false, "show the changes and write nothing")
	force := flag.Bool("force", false, "write even if Git knows of changes that are not committed, or there is no Git")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: pinwheel-move [-diff] [-force] [packages]\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(".", flag.Args(), *diff, *force); err != nil {
		fmt.Fprintln(os.Stderr, "pinwheel-move:", err)
		os.Exit(1)
	}
}

// run moves the packages that patterns name, as seen from a folder.
func run(dir string, patterns []string, diff, force bool) error {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	if !diff && !force {
		if err := clean(dir); err != nil {
			return err
		}
	}
	m, err := move(dir, patterns)
	if err != nil {
		return err
	}
	if diff {
		err = m.diff(os.Stdout)
	} else {
		err = m.write()
	}
	m.summary(os.Stdout)
	return err
}
