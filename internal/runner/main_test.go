package runner

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"go.uber.org/goleak"
)

// No test may leave a goroutine behind: an idle runner has none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(settle.Main(m)) }
