// Command mutation tests the tests: it makes the mistakes of a list in the sources, one at a
// time, and runs the test that must notice each.
//
//	go run ./mutation [-only regexp] [-all] [-count n] [-v]
//
// The list is list.txt. The go command gets a mutation as an overlay, so that the files themselves
// are never touched. The exit status is 1 if a mutation survived, does not compile, or does not
// apply, because its function does not have the text exactly once.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

//go:embed list.txt
var list string

func main() {
	only := flag.String("only", "", "try only mutations whose name, folder or function this `regexp` matches")
	all := flag.Bool("all", false, "run all tests of the package, not only the one that is named")
	count := flag.Int("count", 1, "run the test `n` times, each of which has to notice")
	verbose := flag.Bool("v", false, "show what the tests said")
	flag.Parse()

	ok, err := mutate(*only, &bench{all: *all, times: *count}, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// mutate tries the mutations that match only, in this repository. It reports whether all were
// killed.
func mutate(only string, b *bench, verbose bool) (ok bool, err error) {
	if b.root, err = repository(); err != nil {
		return false, err
	}
	all, err := parse(list)
	if err != nil {
		return false, err
	}
	mutations, err := selected(all, only)
	if err != nil {
		return false, err
	}
	fmt.Printf("%d mutations\n", len(mutations))
	if b.scratch, err = os.MkdirTemp("", "mutation"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.scratch)
	began := time.Now()
	if err := b.prove(mutations); err != nil {
		return false, err
	}
	fmt.Printf("%d tests pass on the sources as they are, %.1f s\n", len(b.took), time.Since(began).Seconds())
	count := tryAll(os.Stdout, b, mutations, verbose)
	fmt.Printf("%d mutations: %d killed, %d hung, %d survived, %d do not compile, %d do not apply, %.0f s\n",
		len(mutations), count[killed], count[hung], count[survived], count[doesNotBuild], count[doesNotApply], time.Since(began).Seconds())
	return count[survived]+count[doesNotBuild]+count[doesNotApply] == 0, nil
}

func selected(all []mutation, only string) ([]mutation, error) {
	pattern, err := regexp.Compile(only)
	var chosen []mutation
	for _, m := range all {
		if err == nil && (pattern.MatchString(m.name) || pattern.MatchString(m.folder) || pattern.MatchString(m.function)) {
			chosen = append(chosen, m)
		}
	}
	if err == nil && len(chosen) == 0 {
		err = errors.New("no mutation matches")
	}
	return chosen, err
}

// repository returns the folder of the library, the parent of this module.
func repository() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/pinwheel-cache/pinwheel").Output()
	return strings.TrimSpace(string(dir)), err
}

// tryAll tries mutations, as many at once as there are processors, and writes a line for
// each. It returns the number of each verdict.
func tryAll(w io.Writer, b *bench, mutations []mutation, verbose bool) map[verdict]int {
	var (
		mu    sync.Mutex // guards count, and the lines from mixing
		count = map[verdict]int{}
		wg    sync.WaitGroup
		slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	)
	for _, m := range mutations {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			v, output := b.try(m)
			mu.Lock()
			defer mu.Unlock()
			count[v]++
			fmt.Fprintf(w, "%-16s %5.1f s  %s %s: %s\n", v, time.Since(began).Seconds(), m.folder, m.function, m.name)
			if verbose || v == survived || v == doesNotApply || v == doesNotBuild {
				fmt.Fprintf(w, "\t- %s\n\t+ %s\n\t%s %s\n%s\n", m.old, m.new, m.test.pkg, m.test.run, output)
			}
		})
	}
	wg.Wait()
	return count
}
