package redistest

import (
	"errors"
	"testing"
)

// Started returns what a function of this package has started, and stops it after the test.
// It skips the test if there is no redis-server, and fails it on any other error.
func Started[S interface{ Stop() }](t testing.TB, s S, err error) S {
	t.Helper()
	if errors.Is(err, ErrNoServer) {
		t.Skip("NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}
