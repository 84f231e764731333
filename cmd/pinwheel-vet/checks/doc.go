// Package checks has the checks of pinwheel-vet, for drivers that have others too. Each is in
// the file of its name.
package checks

import "golang.org/x/tools/go/analysis"

// All returns the checks. They report no fixes, and have no flags.
func All() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		Duration, FetchContext, DroppedError, SharedValue, BeforeCommit, OwnKey, MetricName,
	}
}
