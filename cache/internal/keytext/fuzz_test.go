package keytext_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/keytext"
)

// FuzzKeyText reads any text as a key of each kind. What is read is the key itself
// when it is written and read once more, and a text that fmt writes of a number, a
// boolean or a string is always a key.
func FuzzKeyText(f *testing.F) {
	f.Add("-128", int64(-128))
	f.Fuzz(func(t *testing.T, text string, n int64) {
		for _, text := range []string{text, fmt.Sprint(n), fmt.Sprint(uint64(n))} {
			rewritten[int8](t, text)
			rewritten[int64](t, text)
			rewritten[uint16](t, text)
			rewritten[uint64](t, text)
			rewritten[money](t, text)
			rewritten[level](t, text)
			rewritten[bool](t, text)
			rewritten[netip.Addr](t, text)
			rewritten[netip.AddrPort](t, text)
			rewritten[id](t, text)
			rewritten[time.Duration](t, text)
		}
		readAs(t, fmt.Sprint(n), n)
		readAs(t, fmt.Sprint(int8(n)), int8(n))
		readAs(t, fmt.Sprint(uint64(n)), uint64(n))
		readAs(t, fmt.Sprint(port(n)), port(n))
		readAs(t, fmt.Sprint(n%2 == 0), n%2 == 0)
		readAs(t, text, text)
		readAs(t, text, name(text))
	})
}

// rewritten checks that a text, if it is a key, is the same key when that is written
// and read.
func rewritten[K comparable](t *testing.T, text string) {
	t.Helper()
	key, err := keytext.Parser[K]()(text)
	if err != nil {
		return
	}
	readAs(t, keytext.Of(key), key)
}

// readAs checks that a text is read as a key.
func readAs[K comparable](t *testing.T, text string, want K) {
	t.Helper()
	if got, err := keytext.Parser[K]()(text); got != want || err != nil {
		t.Fatalf("%q is read as the %T %v, %v, want %v", text, got, got, err, want)
	}
}
