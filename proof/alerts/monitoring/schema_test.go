package monitoring

import (
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestSchema checks the board against Grafana's own schema of boards, of panels and of
// queries to Prometheus: no field is missing, unknown, or of another type.
func TestSchema(t *testing.T) {
	known := cog.NewRuntime()
	known.RegisterPanelcfgVariant(timeseries.VariantConfig())
	known.RegisterDataqueryVariant(prometheus.VariantConfig())
	var board dashboard.Dashboard
	settle.Must(t, board.UnmarshalJSONStrict([]byte(read(t, docs+"grafana.json"))))
	if err := board.Validate(); err != nil {
		t.Error(err)
	}
	for _, p := range board.Panels {
		if p.Panel == nil {
			continue // a row
		}
		if _, ok := p.Panel.Options.(*timeseries.Options); !ok {
			t.Errorf("the schema of panel %q, a %s, is not known here", *p.Panel.Title, p.Panel.Type)
		}
	}
}
