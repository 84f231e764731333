package alerts

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// units has the unit tests of the rules.
const units = "alerts.test.yaml"

// TestUnits runs the unit tests by promtool.
func TestUnits(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "tool", "promtool", "test", "rules", units).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestEveryAlertHasUnits finds alerts without a unit test in which they first do not fire and
// then do.
func TestEveryAlertHasUnits(t *testing.T) {
	content, err := os.ReadFile(units)
	settle.Must(t, err)
	var file struct {
		Tests []struct {
			Name    string
			Queries []struct {
				Samples []any `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	settle.Must(t, yaml.Unmarshal(content, &file))
	var tested []string
	for _, test := range file.Tests {
		alert, _, _ := strings.Cut(test.Name, ",")
		tested = append(tested, alert)
		var silent, fires bool
		for _, q := range test.Queries {
			silent = silent || len(q.Samples) == 0
			fires = fires || len(q.Samples) > 0
		}
		if !silent || !fires {
			t.Errorf("%s: there is a time at which it does not fire: %t, and one at which it does: %t", alert, silent, fires)
		}
	}
	slices.Sort(tested)
	if rules := alerts(t); !slices.Equal(rules, tested) {
		t.Errorf("the rules are\n%q\nand tested are\n%q", rules, tested)
	}
}
