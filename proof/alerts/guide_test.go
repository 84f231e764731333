package alerts

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// guide has the table of causes.
const guide = "../../docs/monitoring.md"

// A cause is a row of the table.
type cause struct {
	alerts map[string]time.Duration // and after how long they fire
	panels string
}

// causes returns the rows of the table by the name of the cause.
func causes(t *testing.T) map[string]cause {
	t.Helper()
	content, err := os.ReadFile(guide)
	settle.Must(t, err)
	_, table, _ := strings.Cut(string(content), "\n| Cause |")
	table, _, _ = strings.Cut(table, "\n\n")
	all := make(map[string]cause)
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != 7 {
			t.Fatalf("%d cells, want 7: %s", len(cells), row)
		}
		c := cause{alerts: make(map[string]time.Duration), panels: cells[4]}
		for _, alert := range regexp.MustCompile(`(\w+) (\d+) (s|min|h)\b`).FindAllStringSubmatch(cells[3], -1) {
			n, _ := strconv.Atoi(alert[2])
			c.alerts[alert[1]] = time.Duration(n) * map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[alert[3]]
		}
		if (len(c.alerts) == 0) != (cells[3] == "none") {
			t.Errorf("no alerts in %q", cells[3])
		}
		all[cells[0]] = c
	}
	return all
}
