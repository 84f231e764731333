package timingwheel

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(settle.Main(m)) }
