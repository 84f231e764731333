// Command typecheck reports what the compiler would reject in packages and their tests, on
// the platform of GOOS and GOARCH. It takes seconds where go vet takes minutes, as it
// generates no code and checks only the declarations of dependencies.
//
//	GOOS=windows go run ./typecheck ./...
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	n, errs, err := check("", nil, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
	for _, err := range errs {
		fmt.Fprintln(os.Stderr, err)
	}
	if len(errs) > 0 {
		os.Exit(1)
	}
	fmt.Println(n, "packages, tests among them")
}

// check returns the number of packages that the patterns match, and the errors in them and
// in their imports. An empty dir is the current one, a nil env the environment.
func check(dir string, env []string, patterns ...string) (n int, errs []packages.Error, err error) {
	checked, err := packages.Load(&packages.Config{
		Dir:   dir,
		Env:   env,
		Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
	}, patterns...)
	packages.Visit(checked, nil, func(p *packages.Package) { errs = append(errs, p.Errors...) })
	return len(checked), errs, err
}
