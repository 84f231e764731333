package collection_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

var must = settle.Must // ends a test with an error that it did not expect

// wantSame fails a test unless it got what it wants.
func wantSame[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
