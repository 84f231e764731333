package redistest

import (
	"errors"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
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

// Serve is Start for a test, as Started says.
func Serve(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := Start(args...)
	return Started(t, s, err)
}

// Do runs a command at a server, and ends the test with an error. It returns the answer as text:
// "" for nil and for an array.
func Do(t testing.TB, s *Server, args ...string) (text string) {
	t.Helper()
	m, err := s.Do(args...)
	if err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%.80q: %v", args, err)
	}
	if m.IsInt64() {
		n, _ := m.AsInt64() // it is one
		return strconv.FormatInt(n, 10)
	}
	text, _ = m.ToString()
	return text
}
