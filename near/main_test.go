package near_test

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }
