package runner

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// No test may leave a goroutine behind: an idle runner has none.
func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

var must = settle.Must // ends a test with an error that it did not expect
