package runner

import (
	"testing"

	"go.uber.org/goleak"
)

// No test may leave a goroutine behind: an idle runner has none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
