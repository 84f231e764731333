package codec

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type holder struct {
	Name  string
	Any   any
	Next  *holder
	Skip  any `json:"-"`
	hides any
	embedded
}

type embedded struct{ Inner []any }

// named has the text of another type, and its own way to write it.
type named struct{ of any }

func (n named) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(n.of)) }
func (n *named) UnmarshalJSON(b []byte) error {
	var s string
	err := json.Unmarshal(b, &s)
	n.of = s
	return err
}

// comesBack reports whether an entry has been encoded, and fails the test if it does not come back
// then as it was.
func comesBack[K comparable, V any](t rapid.TB, key K, value V) bool {
	t.Helper()
	encode, decode := JSON[K, V]()
	b, err := encode(nil, key, value)
	if err != nil {
		return false
	}
	if k, v, err := decode(b); err != nil || k != key || !reflect.DeepEqual(v, value) {
		t.Errorf("%#v, %#v became %s, and then %#v, %#v, %v", key, value, b, k, v, err)
	}
	return true
}

// TestJSONKeepsOrRefuses checks that what JSON would change is an error, and nothing else.
func TestJSONKeepsOrRefuses(t *testing.T) {
	const hash = "\xff\xfe\x01"
	for name, kept := range map[string]bool{
		"a key of bytes":               comesBack(t, hash, 1),
		"a value of bytes":             comesBack(t, 1, hash),
		"bytes deep inside":            comesBack(t, 1, []*holder{{Next: &holder{Name: "a" + hash}}}),
		"bytes as a key of a map":      comesBack(t, 1, map[string]int{hash: 1}),
		"bytes in an interface":        comesBack(t, 1, map[string]any{"a": hash}),
		"an int in an interface":       comesBack[int, any](t, 1, 1),
		"an int as a key":              comesBack[any](t, 1, 1),
		"an int64 in a map":            comesBack(t, 1, map[string]any{"n": int64(math.MaxInt64)}),
		"a float32 in a slice":         comesBack(t, 1, []any{float32(0.5)}),
		"an int in a struct":           comesBack(t, 1, holder{Any: 1}),
		"an int in an embedded struct": comesBack(t, 1, &holder{embedded: embedded{[]any{true, 1}}}),
		"an int below an interface":    comesBack[int, any](t, 1, map[string]any{"a": []any{1}}),
		"a json.Number":                comesBack[int, any](t, 1, json.Number("1")),
		"a time in an interface":       comesBack[int, any](t, 1, time.Unix(0, 0).UTC()),
		"a string of a type":           comesBack[int, any](t, 1, time.Month(1)),
		"a nil slice in an interface":  comesBack[int, any](t, 1, []any(nil)),
		"an interface with methods":    comesBack[int, fmt.Stringer](t, 1, time.Second),
	} {
		if kept {
			t.Errorf("%s was encoded", name)
		}
	}
	tree := map[string]any{"a": []any{nil, true, 1.5, "b", map[string]any{}, []any{}}}
	for name, kept := range map[string]bool{
		"the character that JSON uses": comesBack(t, "\ufffd", "\ufffd"),
		"its escape":                   comesBack(t, `\ufffd`, `\\ufffd`),
		"its escape in ready JSON":     comesBack(t, 1, json.RawMessage(`{"a":"\ufffd"}`)),
		"what JSON itself knows":       comesBack[any](t, 1.0, tree),
		"nothing in an interface":      comesBack(t, 1, holder{Name: "a", Next: &holder{}}),
		"an interface JSON leaves out": comesBack(t, 1, map[string]int(nil)),
		"large numbers with a type":    comesBack(t, uint64(math.MaxUint64), []int64{math.MinInt64}),
		"bytes as bytes":               comesBack(t, 1, []byte(hash)),
		"a time with a type":           comesBack(t, 1, time.Unix(0, 0).UTC()),
		"a type that writes itself":    comesBack(t, 1, []named{{"b"}}),
	} {
		if !kept {
			t.Errorf("%s was refused", name)
		}
	}
	encode, _ := JSON[int, holder]()
	if _, err := encode(nil, 1, holder{Skip: 1, hides: 1}); err != nil {
		t.Errorf("fields that JSON does not write are refused: %v", err)
	}
	for want, err := range map[string]error{
		"string that is not UTF-8": second(encode(nil, 1, holder{Name: hash})),
		"int in interface":         second(encode(nil, 1, holder{Any: 1})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func second(_ []byte, err error) error { return err }

// TestJSONOfAnything checks with entries of any bytes and any tree that they are refused or come
// back.
func TestJSONOfAnything(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte("a\\u\"\xff\xef\xbf\xbdfd\x80")), 0, 8), func(b []byte) string { return string(b) })
	leaf := rapid.OneOf(rapid.Just[any](nil), text.AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.Bool().AsAny(), rapid.Int().AsAny())
	tree := func(t *rapid.T) any {
		m := map[string]any{}
		for k, v := range rapid.MapOf(text, leaf).Draw(t, "map") {
			m[k] = v
		}
		return rapid.OneOf(leaf, rapid.Just[any](m), rapid.SliceOf(leaf).AsAny()).Draw(t, "value")
	}
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		for _, ok := range []bool{
			comesBack(t, text.Draw(t, "key"), tree(t)),
			comesBack(t, 1, rapid.MapOf(text, text).Draw(t, "texts")),
		} {
			if ok {
				kept++
			}
		}
	})
	if kept == 0 {
		t.Error("nothing was kept")
	}
}
