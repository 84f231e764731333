package codec

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

type user struct {
	Name  string
	Teams []string
	Boss  *user
}

type keyed struct{ Tenant, ID int64 }

// wantBack encodes and decodes each entry and expects it back.
func wantBack[K comparable, V any](t rapid.TB, entries map[K]V) {
	je, jd := JSON[K, V]()
	ge, gd := Gob[K, V]()
	for name, codec := range map[string]struct {
		encode func([]byte, K, V) ([]byte, error)
		decode func([]byte) (K, V, error)
	}{"JSON": {je, jd}, "Gob": {ge, gd}} {
		for key, value := range entries {
			const prefix = "what is there already"
			b, err := codec.encode([]byte(prefix), key, value)
			if err != nil || string(b[:len(prefix)]) != prefix {
				t.Fatalf("%s: encode made %q, %v", name, b, err)
			}
			gotKey, gotValue, err := codec.decode(b[len(prefix):])
			if gotKey != key || !reflect.DeepEqual(gotValue, value) || err != nil {
				t.Fatalf("%s: %v, %v, %v; want %v, %v", name, gotKey, gotValue, err, key, value)
			}
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

// TestStringsOfAnyBytes: keys and values that are strings come back though they are not UTF-8,
// as hashes are.
func TestStringsOfAnyBytes(t *testing.T) {
	type name string
	wantBack(t, map[string]string{"\xff": "a", "\xfe": "\x80\x81", "\ufffd": "\xff", `\ufffd`: "\ufffd", "a": `\ufffd`})
	wantBack(t, map[name][]name{"\xff": {"a"}, "\xfe": nil, "\ufffd": {"\ufffd"}})
	wantBack(t, map[int]name{1: "\xff", 2: `"\xff`})
	wantBack(t, map[string]json.RawMessage{"a": json.RawMessage(`"\ufffd"`), "\xff": json.RawMessage(`{"x":"\ufffd"}`)})
	rapid.Check(t, func(t *rapid.T) {
		anything := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
		wantBack(t, rapid.MapOf(anything, anything).Draw(t, "strings"))
	})
}

// wantRefused checks that JSON returns an error for an entry.
func wantRefused[K comparable, V any](t *testing.T, key K, value V, because string) {
	t.Helper()
	encode, decode := JSON[K, V]()
	b, err := encode([]byte("dst"), key, value)
	if err == nil {
		k, v, _ := decode(b[3:])
		t.Errorf("%#v, %#v came back as %#v, %#v", key, value, k, v)
	} else if !strings.Contains(err.Error(), because) {
		t.Errorf("%#v, %#v: %v, want %q", key, value, err, because)
	}
}

// A loud string makes its own JSON where it has an address.
type loud string

func (l *loud) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(*l))), nil }

type named struct {
	Name loud
	Also string
}

// TestWhatJSONWouldChange is an error of the encoder.
func TestWhatJSONWouldChange(t *testing.T) {
	type tree struct {
		Left, Right *tree
		Leaf        any
	}
	wantRefused(t, "a", []string{"\xff"}, "UTF-8")
	wantRefused(t, "\xff", user{Boss: &user{Name: "x\xff"}}, "UTF-8")
	wantRefused(t, 1, map[string]int{"\xff": 1, "\xfe": 2}, "UTF-8")
	wantRefused(t, struct{ Name string }{"\xff"}, 1, "UTF-8")
	wantRefused(t, 1, any("\xff"), "UTF-8")
	wantRefused(t, 1, named{"\xff", ""}, "UTF-8")
	wantRefused(t, any(1), 1, "int")
	wantRefused(t, 1, any(int64(1)), "int64")
	wantRefused(t, 1, map[string]any{"a": []any{"b", nil, 1.5, 7}}, "int")
	wantRefused(t, 1, []any{user{}}, "codec.user")
	wantRefused(t, 1, &tree{Right: &tree{Leaf: uint8(1)}}, "uint8")
	wantRefused(t, 1, [1]map[any]int{{2: 3}}, "int")
	wantRefused(t, 1, any([]any(nil)), "[]interface {}")
	wantRefused(t, 1, struct{ Err error }{fs.ErrNotExist}, "*errors.errorString")
	wantRefused(t, 1, new([]int), "*[]int")
	wantRefused(t, 1, []*map[string]int{nil, {}, new(map[string]int)}, "*map[string]int")
	wantRefused(t, 1, map[int]struct{ P **user }{1: {new(*user)}}, "**codec.user")
	wantRefused(t, 1, new(any), "*interface {}")
}

// TestWhatJSONKeepsInInterfaces comes back, as from another JSON.
func TestWhatJSONKeepsInInterfaces(t *testing.T) {
	wantOwn, _ := JSON[int, *named]()
	if b, err := wantOwn(nil, 1, &named{"\xff", "\ufffd"}); err != nil {
		t.Errorf("%s, %v", b, err)
	}
	type embedded struct{ Any any }
	type withHidden struct {
		embedded
		At      time.Time
		Ignored any `json:"-"`
		hidden  any
		error
	}
	encode, decode := JSON[any, any]()
	for _, want := range []any{nil, true, 1.5, "a", []any{1.0, "x", nil}, map[string]any{"a": []any{map[string]any{}}, "b": nil}} {
		b, err := encode(nil, "key", want)
		if err != nil {
			t.Error(err)
			continue
		}
		if k, v, err := decode(b); k != "key" || !reflect.DeepEqual(v, want) || err != nil {
			t.Errorf("%#v came back as %#v, %#v, %v", want, k, v, err)
		}
	}
	encodeHidden, _ := JSON[int, withHidden]()
	if _, err := encodeHidden(nil, 1, withHidden{embedded{"a"}, time.Now(), 1, 2, fs.ErrNotExist}); err != nil {
		t.Error(err)
	}
}

// TestGobSavesAgain: the functions of one Gob save and restore several times, also while
// another cache saves.
func TestGobSavesAgain(t *testing.T) {
	encode, decode := Gob[string, *user]()
	for _, others := range []int{0, 1} {
		c := cache.Must(cache.Options[string, *user]{})
		other := cache.Must(cache.Options[string, *user]{})
		for i := range 5 {
			c.Set(strconv.Itoa(i), &user{Name: "x"})
			var file bytes.Buffer
			err := c.Save(&file, func(b []byte, key string, value *user) ([]byte, error) {
				for range others {
					if err := other.Save(io.Discard, encode); err != nil {
						return nil, err
					}
				}
				return encode(b, key, value)
			})
			settle.Must(t, err)
			_, fresh := Gob[string, *user]()
			for _, d := range []func([]byte) (string, *user, error){decode, fresh} {
				restored := cache.Must(cache.Options[string, *user]{})
				if n, err := restored.Restore(bytes.NewReader(file.Bytes()), d); n != i+1 || err != nil {
					t.Errorf("Restore after Save %d = %d, %v", i+1, n, err)
				}
			}
		}
	}
}

// TestGobAfterAnError: an entry that cannot be encoded does not harm the next ones.
func TestGobAfterAnError(t *testing.T) {
	type of struct {
		User  *user
		Other any
	}
	encode, decode := Gob[int, of]()
	if b, err := encode(nil, 1, of{Other: make(chan int)}); err == nil {
		t.Errorf("a channel became %q", b)
	}
	b, err := encode(nil, 1, of{User: &user{Name: "x"}})
	settle.Must(t, err)
	if _, v, err := decode(b); err != nil || v.User.Name != "x" {
		t.Errorf("%v, %v", v, err)
	}
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
	for _, text := range []string{"", "{}", "[]", `["a"]`, `["a",1,2]`, `["a",1,null,"YQ=="]`, `["a",1,"?",null]`, `["a",1,null,null,1]`, `[1,1]`, `["a","b"]`, `["a",1`} {
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
