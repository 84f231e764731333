package checks_test

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/pinwheel-cache/pinwheel/cmd/pinwheel-vet/checks"
)

// TestChecks runs each check over the package of its name in testdata, in which comments say
// what it must report.
//
// Catches: a finding that is missing, or one for which there is no comment.
func TestChecks(t *testing.T) {
	if err := analysis.Validate(checks.All()); err != nil {
		t.Fatal(err)
	}
	for _, check := range checks.All() {
		t.Run(check.Name, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), check, "testdata/"+check.Name)
		})
	}
}
