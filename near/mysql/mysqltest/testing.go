package mysqltest

import (
	"errors"
	"testing"
)

// Started returns what Start has returned, and stops it after the test. It skips the test if there
// is no program to run, and fails it on any other error.
func Started(t testing.TB, s *Server, err error) *Server {
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
