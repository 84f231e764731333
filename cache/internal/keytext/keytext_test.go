package keytext_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/keytext"
)

type (
	name  string
	port  uint16
	money int64
	is    bool

	// A level is shown by fmt otherwise than it can be read.
	level int

	// An id is shown by fmt otherwise than in text, and by neither as the array that
	// it is.
	id [2]byte

	// A code can be read, but says by fmt only how it is written.
	code struct{ n int }

	// A secret cannot be written at times.
	secret struct{ n int }
)

func (n name) String() string             { return "the name " + string(n) }
func (l level) String() string            { return [...]string{"low", "high"}[l] }
func (is) Error() string                  { return "an error" }
func (i id) String() string               { return fmt.Sprintf("id %x", i[:]) }
func (i id) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", i[:]), nil }

func (i *id) UnmarshalText(text []byte) error {
	if len(text) != 4 {
		return errors.New("an id has 4 digits")
	}
	_, err := fmt.Sscanf(string(text), "%02x%02x", &i[0], &i[1])
	return err
}

func (c code) String() string { return fmt.Sprint("code-", c.n) }

func (c *code) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "code-%d", &c.n)
	return err
}

func (s secret) String() string               { return "secret" }
func (s secret) MarshalText() ([]byte, error) { return nil, errors.New("not to be told") }
func (s *secret) UnmarshalText([]byte) error  { return nil }

// writtenAs checks how each key is written, and that it is read from that.
func writtenAs[K comparable](t *testing.T, keys map[K]string) {
	t.Helper()
	for key, want := range keys {
		if got := keytext.Of(key); got != want {
			t.Errorf("%T %v is written as %q, want %q", key, key, got, want)
		}
		readAs(t, want, key)
	}
}

// TestKeysAreReadAsWritten checks the text of keys of each kind, and that it is read as
// the same key.
func TestKeysAreReadAsWritten(t *testing.T) {
	writtenAs(t, map[bool]string{true: "true", false: "false"})
	writtenAs(t, map[is]string{true: "true"})
	writtenAs(t, map[int8]string{math.MinInt8: "-128", math.MaxInt8: "127"})
	writtenAs(t, map[int16]string{math.MinInt16: "-32768", math.MaxInt16: "32767"})
	writtenAs(t, map[int32]string{math.MinInt32: "-2147483648", 'x': "120"})
	writtenAs(t, map[int64]string{math.MinInt64: "-9223372036854775808"})
	writtenAs(t, map[uint]string{math.MaxUint: strconv.FormatUint(math.MaxUint, 10)})
	writtenAs(t, map[uint8]string{0: "0", 255: "255"})
	writtenAs(t, map[uint16]string{65535: "65535"})
	writtenAs(t, map[uint32]string{math.MaxUint32: "4294967295"})
	writtenAs(t, map[uint64]string{math.MaxUint64: "18446744073709551615"})
	writtenAs(t, map[uintptr]string{77: "77"})
	writtenAs(t, map[port]string{8080: "8080"})
	writtenAs(t, map[money]string{-5: "-5"})
	writtenAs(t, map[time.Duration]string{time.Second: "1000000000"})
	writtenAs(t, map[netip.Addr]string{
		netip.MustParseAddr("192.0.2.1"):     "192.0.2.1",
		netip.MustParseAddr("2001:db8::1%4"): "2001:db8::1%4",
		{}:                                   "", // which is "invalid IP" to fmt
	})
	writtenAs(t, map[netip.AddrPort]string{netip.MustParseAddrPort("[::1]:80"): "[::1]:80"})
	writtenAs(t, map[time.Time]string{time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC): "2026-01-02T03:04:05.000000006Z"})
	writtenAs(t, map[id]string{{0xab, 1}: "ab01"})
	writtenAs(t, map[code]string{{7}: "code-7"})
}

// TestPointerKeysHideWhatTheyPointTo checks that the text of a key that is a pointer does
// not show what it points to: that is not the key, may be secret, and may be changing.
func TestPointerKeysHideWhatTheyPointTo(t *testing.T) {
	type user struct{ name, password string }
	u := &user{"ann", "hunter2"}
	for _, text := range []string{keytext.Of(u), keytext.Of[any](u), keytext.Of(struct{ *user }{u})} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "0x") {
			t.Errorf("a pointer is shown as %s", text)
		}
	}
}

// TestKeysThatCannotBeWritten checks that keys without a text of their own are shown as
// fmt does.
func TestKeysThatCannotBeWritten(t *testing.T) {
	for want, got := range map[string]string{
		"secret": keytext.Of(secret{1}),
		"{1 a}": keytext.Of(struct {
			n int
			s string
		}{1, "a"}),
		"0.5":        keytext.Of(0.5),
		"[1 2]":      keytext.Of([2]int{1, 2}),
		"<nil>":      keytext.Of[any](nil),
		"any":        keytext.Of[any]("any"),
		"high":       keytext.Of[any](level(1)),
		"the name x": keytext.Of[fmt.Stringer](name("x")),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// refuses checks that a text is no key, and that the error tells what was given and
// what is wanted.
func refuses[K comparable](t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		key, err := keytext.Parser[K]()(text)
		if err == nil {
			t.Errorf("%q is read as the %T %v", text, key, key)
			continue
		}
		for _, want := range []string{fmt.Sprintf("%q", text), reflect.TypeFor[K]().String()} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error %q does not say %s", err, want)
			}
		}
	}
}

// TestTextsThatAreNoKeys checks that texts that are no key of a type are refused, with the
// error of UnmarshalText.
func TestTextsThatAreNoKeys(t *testing.T) {
	refuses[int](t, "", "a", "1.5", "0x10", "1_000", " 1", "9223372036854775808")
	refuses[int8](t, "128", "-129")
	refuses[int16](t, "32768", "-32769")
	refuses[uint](t, "", "-1", "18446744073709551616")
	refuses[port](t, "65536", "-1", "http")
	refuses[level](t, "high")
	refuses[bool](t, "", "yes", "2")
	refuses[netip.Addr](t, "a", "1.2.3", "1.2.3.4:5")
	refuses[time.Time](t, "", "today", "2026-01-02 03:04:05 +0000 UTC")
	refuses[id](t, "", "abc", "id ab01")
	if _, err := keytext.Parser[id]()("abc"); err == nil || !strings.Contains(err.Error(), "an id has 4 digits") {
		t.Errorf("the error %v hides that of UnmarshalText", err)
	}
}

// TestKeysThatCannotBeRead checks for which types there is no parser.
func TestKeysThatCannotBeRead(t *testing.T) {
	readable := map[string]bool{
		"struct":    keytext.Parser[struct{ n int }]() != nil,
		"float64":   keytext.Parser[float64]() != nil,
		"complex":   keytext.Parser[complex64]() != nil,
		"interface": keytext.Parser[any]() != nil,
		"Stringer":  keytext.Parser[fmt.Stringer]() != nil,
		"array":     keytext.Parser[[4]byte]() != nil,
		"pointer":   keytext.Parser[*int]() != nil,
		"*Addr":     keytext.Parser[*netip.Addr]() != nil,
		"channel":   keytext.Parser[chan int]() != nil,
	}
	for what, ok := range readable {
		if ok {
			t.Errorf("a key that is a %s can be read", what)
		}
	}
}
