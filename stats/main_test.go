package stats_test

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	time.Local = time.FixedZone("elsewhere", 3600) // times are shown in UTC wherever this runs
	goleak.VerifyTestMain(settle.Main(m))
}
