package codec

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type user struct {
	Name  string
	Teams []string
	Boss  *user
}

type keyed struct{ Tenant, ID int64 }

// back encodes and decodes the entries, in order, and returns what came back.
func back[K comparable, V any](t rapid.TB, encode func([]byte, K, V) ([]byte, error), decode func([]byte) (K, V, error), keys []K, values []V) (gotKeys []K, gotValues []V) {
	for i := range keys {
		prefix := []byte("what is there already")
		b, err := encode(prefix, keys[i], values[i])
		if err != nil {
			t.Fatal(err)
		}
		if string(b[:len(prefix)]) != string(prefix) {
			t.Fatalf("encode changed dst to %q", b)
		}
		key, value, err := decode(b[len(prefix):])
		if err != nil {
			t.Fatal(err)
		}
		gotKeys, gotValues = append(gotKeys, key), append(gotValues, value)
	}
	return gotKeys, gotValues
}

func wantBack[K comparable, V any](t rapid.TB, entries map[K]V) {
	keys := slices.Collect(maps.Keys(entries))
	var values []V
	for _, k := range keys {
		values = append(values, entries[k])
	}
	je, jd := JSON[K, V]()
	ge, gd := Gob[K, V]()
	for name, codec := range map[string]struct {
		encode func([]byte, K, V) ([]byte, error)
		decode func([]byte) (K, V, error)
	}{"JSON": {je, jd}, "Gob": {ge, gd}} {
		gotKeys, gotValues := back(t, codec.encode, codec.decode, keys, values)
		if !slices.Equal(gotKeys, keys) || !reflect.DeepEqual(gotValues, values) {
			t.Fatalf("%s: %v, %v; want %v, %v", name, gotKeys, gotValues, keys, values)
		}
	}
}

func TestWhatGoesInComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wantBack(t, rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "strings"))
		wantBack(t, rapid.MapOf(rapid.Int64(), rapid.Float64()).Draw(t, "numbers"))
		wantBack(t, rapid.MapOf(rapid.Bool(), rapid.SliceOfN(rapid.Byte(), 1, 10)).Draw(t, "bytes"))
	})
	boss := &user{Name: "Eve", Teams: []string{"a"}}
	wantBack(t, map[keyed]*user{{1, 2}: {"Ann", []string{"x", "y"}, boss}, {0, 0}: nil, {3, math.MinInt64}: {}})
}

// TestGobDescribesTypesOnce: that is what the stream is for.
func TestGobDescribesTypesOnce(t *testing.T) {
	encode, _ := Gob[string, *user]()
	first, err1 := encode(nil, "a", &user{Name: "x"})
	second, err2 := encode(nil, "b", &user{Name: "y"})
	if err1 != nil || err2 != nil || len(second) > len(first)/3 {
		t.Errorf("%d bytes, then %d; %v, %v", len(first), len(second), err1, err2)
	}
}

// TestWhatIsNoEntry is an error of the decoder.
func TestWhatIsNoEntry(t *testing.T) {
	_, fromJSON := JSON[string, int]()
	for _, text := range []string{"", "{}", "[]", `["a"]`, `["a",1,2]`, `[1,1]`, `["a","b"]`, `["a",1`} {
		if k, v, err := fromJSON([]byte(text)); err == nil {
			t.Errorf("%q: %v, %v", text, k, v)
		}
	}
	_, fromGob := Gob[string, int]()
	if k, v, err := fromGob([]byte("no gob")); err == nil {
		t.Errorf("%v, %v", k, v)
	}
	encode, _ := JSON[string, any]()
	if b, err := encode(nil, "a", make(chan int)); err == nil {
		t.Errorf("a channel became %q", b)
	}
}
