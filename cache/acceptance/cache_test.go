// Package acceptance tests the cache from outside: a TestPromiseN for each promise of the
// README, faults, and a ledger of all values.
//
// All time is the fake time of testing/synctest, except in a few tests that need real
// threads or the garbage collector. Every subtest says in one line what it catches.
package acceptance

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) {
	settle.VerifyTestMain(m)
}
