package near

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

type (
	id   int16
	name string
)

// Catches: a key that does not come back from its string, so that a change of it removes
// nothing, or another one.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, rapid.String().Draw(t, "string"))
		roundTrip(t, name(rapid.StringOf(rapid.Rune()).Draw(t, "name")))
		roundTrip(t, rapid.Int64().Draw(t, "int64"))
		roundTrip(t, rapid.Uint64().Draw(t, "uint64"))
		roundTrip(t, id(rapid.Int16().Draw(t, "id")))
	})
	roundTrip(t, string([]byte{0, 0xff, '\n'}))
	roundTrip(t, uint64(math.MaxUint64))
}

type fatal interface {
	Fatalf(format string, args ...any)
}

func roundTrip[K comparable](t fatal, key K) {
	text := textOf[K]()
	if got, err := text.Parse(text.String(key)); err != nil || got != key {
		t.Fatalf("%v is %q and that is %v, %v", key, text.String(key), got, err)
	}
}

// Catches: a string of another cache that is taken for a key.
func TestTextRefuses(t *testing.T) {
	for _, s := range []string{"", "x", "40000", "1.5"} {
		if key, err := textOf[id]().Parse(s); err == nil {
			t.Errorf("%q is the key %d", s, key)
		}
	}
	if key, err := textOf[uint8]().Parse("-1"); err == nil {
		t.Errorf("-1 is the key %d", key)
	}
	if textOf[struct{ A, B int }]().Parse != nil {
		t.Error("a struct has a text")
	}
}
