package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"weak"
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

// shownAndPurged checks that each key, as the hot keys show it, is purged by what is
// shown. Each shape of a key is a cache to compile, so the other types have writtenAs.
func shownAndPurged[K comparable](t *testing.T, keys map[K]string) {
	t.Helper()
	for key, want := range keys {
		t.Run(fmt.Sprintf("%T %s", key, want), func(t *testing.T) {
			c := Must(Options[K, int]{HotKeys: 1})
			source := sourceOf(weak.Make(c))
			c.Set(key, 1)
			ask(c, key)
			hot := source.HotKeys()
			if len(hot) != 1 || hot[0].Key != want || hot[0].Share != 1 {
				t.Fatalf("hot keys are %v, want %q", hot, want)
			}
			if n, err := source.Purge(hot[0].Key); n != 1 || err != nil {
				t.Errorf("Purge(%q) = %d, %v", hot[0].Key, n, err)
			}
			if _, ok := c.Peek(key); ok {
				t.Errorf("%v is still there", key)
			}
			if n, err := source.Purge(hot[0].Key); n != 0 || err != nil {
				t.Errorf("Purge(%q) once more = %d, %v", hot[0].Key, n, err)
			}
		})
	}
}

// TestWhatIsShownCanBePurged checks that the text that the page shows of a key purges that
// key.
func TestWhatIsShownCanBePurged(t *testing.T) {
	shownAndPurged(t, map[string]string{"": "", "a": "a", " a b\n": " a b\n", "ключ": "ключ", "\x00": "\x00"})
	shownAndPurged(t, map[name]string{"ann": "ann"})
	shownAndPurged(t, map[int]string{0: "0", math.MinInt: strconv.Itoa(math.MinInt), math.MaxInt: strconv.Itoa(math.MaxInt)})
	shownAndPurged(t, map[level]string{1: "1"}) // not "high", which nothing can read
}

// writtenAs checks how each key is written, and that it is read from that.
func writtenAs[K comparable](t *testing.T, keys map[K]string) {
	t.Helper()
	for key, want := range keys {
		if got := keyText(key); got != want {
			t.Errorf("%T %v is written as %q, want %q", key, key, got, want)
		}
		if got, err := keyParser[K]()(want); got != key || err != nil {
			t.Errorf("%q is read as %T %v, %v, want %v", want, got, got, err, key)
		}
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
	for _, text := range []string{keyText(u), keyText[any](u), keyText(struct{ *user }{u})} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "0x") {
			t.Errorf("a pointer is shown as %s", text)
		}
	}
}

// TestKeysThatCannotBeWritten checks that keys without a text of their own are shown as
// fmt does.
func TestKeysThatCannotBeWritten(t *testing.T) {
	for want, got := range map[string]string{
		"secret": keyText(secret{1}),
		"{1 a}": keyText(struct {
			n int
			s string
		}{1, "a"}),
		"0.5":        keyText(0.5),
		"[1 2]":      keyText([2]int{1, 2}),
		"<nil>":      keyText[any](nil),
		"any":        keyText[any]("any"),
		"high":       keyText[any](level(1)),
		"the name x": keyText[fmt.Stringer](name("x")),
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
		key, err := keyParser[K]()(text)
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
	if _, err := keyParser[id]()("abc"); err == nil || !strings.Contains(err.Error(), "an id has 4 digits") {
		t.Errorf("the error %v hides that of UnmarshalText", err)
	}

	c := Must(Options[int, int]{})
	c.Set(0, 1) // which a text that is no key must not remove
	if n, err := sourceOf(weak.Make(c)).Purge("a"); n != 0 || err == nil || c.Len() != 1 {
		t.Errorf("Purge of what is no key = %d, %v; %d entries left", n, err, c.Len())
	}
}

// TestKeysThatCannotBePurged checks that a cache whose keys cannot be parsed offers no
// purge by key.
func TestKeysThatCannotBePurged(t *testing.T) {
	purgeable := map[string]bool{
		"struct":    keyParser[struct{ n int }]() != nil,
		"float64":   keyParser[float64]() != nil,
		"complex":   keyParser[complex64]() != nil,
		"interface": keyParser[any]() != nil,
		"Stringer":  keyParser[fmt.Stringer]() != nil,
		"array":     keyParser[[4]byte]() != nil,
		"pointer":   keyParser[*int]() != nil,
		"*Addr":     keyParser[*netip.Addr]() != nil,
		"channel":   keyParser[chan int]() != nil,
	}
	for what, ok := range purgeable {
		if ok {
			t.Errorf("a key that is a %s can be purged", what)
		}
	}
	c := Must(Options[any, int]{})
	source := sourceOf(weak.Make(c))
	if source.Purge != nil || source.HotKeys != nil {
		t.Error("Purge or HotKeys is offered, but there is none")
	}
	c.Set(1, 1)
	c.Set(2, 1)
	if n := source.PurgeAll(); n != 2 || c.Len() != 0 {
		t.Errorf("PurgeAll removed %d, and left %d", n, c.Len())
	}
}

// TestSourceOfACollectedCache checks that the functions given to package stats do nothing
// after the cache was collected.
func TestSourceOfACollectedCache(t *testing.T) {
	c := Must(withExtras(Options[int, int]{Limit: 10}))
	w := weak.Make(c)
	source := sourceOf(w)
	c.Set(1, 1)
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	c = nil
	if !collectedUntil(func() bool { return w.Value() == nil }) {
		t.Fatal("the extras keep the cache")
	}
	if source.HotKeys() != nil || source.PurgeAll() != 0 {
		t.Error("there are hot keys or entries in no cache")
	}
	if n, err := source.Purge("1"); n != 0 || err != nil {
		t.Errorf("Purge = %d, %v", n, err)
	}
	if _, err := source.Purge("x"); err == nil {
		t.Error("Purge of what is no key returns no error")
	}
}
