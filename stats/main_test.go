package stats_test

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childOf) != "" {
		serveChild()
		return
	}
	time.Local = time.FixedZone("elsewhere", 3600) // times are shown in UTC wherever this runs
	goleak.VerifyTestMain(m)
}
