package timingwheel

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

var must = settle.Must // ends a test with an error that it did not expect
