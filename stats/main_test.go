package stats_test

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) {
	time.Local = time.FixedZone("elsewhere", 3600) // times are shown in UTC wherever this runs
	settle.VerifyTestMain(m)
}

var must = settle.Must // ends a test with an error that it did not expect
