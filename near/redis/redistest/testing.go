package redistest

import (
	"errors"
	"io"
	"os"
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

// CheckExample runs an example that starts a server, and fails the test unless it prints
// want. An example with an Output comment would fail where there is no redis-server;
// CheckExample skips the test there. It must not run in parallel with other tests, as it
// replaces [os.Stdout] meanwhile.
func CheckExample(t testing.TB, example func(), want string) {
	t.Helper()
	s, err := Start()
	Started(t, s, err)
	if got := printed(t, example); got != want {
		t.Errorf("the example prints %q, want %q", got, want)
	}
}

// printed returns what f writes to the standard output.
func printed(t testing.TB, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	f()
	w.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
