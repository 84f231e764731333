package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// operated are the folders in whose packages the operators make mistakes.
var operated = []string{"cache", "lru", "timingwheel", "stats", "internal", "near"}

// equivalents are the mutations that change nothing which is promised, so that no test can
// notice them: a line each, as [mutation.key] has it, and before it, after #, the reason.
//
//go:embed equivalents.txt
var equivalents string

// key names a mutation of an operator, wherever its function has moved.
func (m mutation) key() string {
	return fmt.Sprintf("%s %s: %s => %s", m.file, m.function, m.old, m.new)
}

// operate tries a sample of the mutations that operators make and that match only. It reports
// whether no test survived.
func operate(only string, b *bench, sample int, seed uint64, verbose bool) (ok bool, err error) {
	if b.root, err = repository(); err != nil {
		return false, err
	}
	all, err := operatedMutations(b.root, only)
	if err != nil {
		return false, err
	}
	if len(all) == 0 {
		return false, errors.New("no mutation matches")
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	chosen := sampleOf(all, sample, seed)
	fmt.Printf("%d of %d mutations, -seed %d\n", len(chosen), len(all), seed)
	count, err := proveAndTry(b, chosen, verbose)
	return err == nil && count[survived]+count[doesNotApply] == 0, err
}

// sampleOf returns n of the mutations, or all if there are fewer. Which ones depends on the seed
// and on each mutation by itself. So a change of the sources changes no more of the sample than
// its own lines, and a survivor is news of them.
func sampleOf(all []mutation, n int, seed uint64) []mutation {
	lots := map[string][sha256.Size]byte{} // by key
	for _, m := range all {
		lots[m.key()] = sha256.Sum256(fmt.Appendln(nil, seed, m.key()))
	}
	slices.SortStableFunc(all, func(m, o mutation) int {
		mine, others := lots[m.key()], lots[o.key()]
		return bytes.Compare(mine[:], others[:])
	})
	return all[:min(n, len(all))]
}

// operatedMutations returns the mutations that operators make in a repository, without the
// known equivalents.
func operatedMutations(root, only string) (all []mutation, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for line := range strings.Lines(withoutComments(equivalents)) {
		known[strings.TrimSpace(line)] = true
	}
	for _, dir := range operated {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			here, _ := build.Default.MatchFile(filepath.Split(path)) // by its name and build tags
			if entry.IsDir() || !here || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			made, err := mutationsOf(root, path)
			for _, m := range made {
				if !known[m.key()] && (pattern.MatchString(m.file) || pattern.MatchString(m.function)) {
					all = append(all, m)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// mutationsOf returns the mutations that operators make in a file.
func mutationsOf(root, path string) (all []mutation, err error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	mutants, err := mutantsOf(source)
	for _, m := range mutants {
		if m, ok := m.mutation(filepath.ToSlash(filepath.Dir(file)), filepath.ToSlash(file), source); ok {
			all = append(all, m)
		}
	}
	return all, err
}
