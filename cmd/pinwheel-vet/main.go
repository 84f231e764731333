// Pinwheel-vet finds mistakes in code that uses pinwheel's caches:
//
//	go install github.com/pinwheel-cache/pinwheel/cmd/pinwheel-vet@latest
//	go vet -vettool="$(which pinwheel-vet)" ./...
//	pinwheel-vet ./...
//
// Pinwheel-vet help lists the checks, and what each catches. A flag turns off one, as
// -sharedvalue=false. It exits with 0 if it has found nothing.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/pinwheel-cache/pinwheel/cmd/pinwheel-vet/checks"
)

func main() { multichecker.Main(checks.All()...) }
