package codec

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestGobSavesAgain checks that one pair of functions is good for any number of files, also while
// another cache is saved.
func TestGobSavesAgain(t *testing.T) {
	encode, decode := Gob[string, *user]()
	c, other := cache.Must(cache.Options[string, *user]{}), cache.Must(cache.Options[string, *user]{})
	for _, name := range strings.Fields("Ann Bob Eve") {
		c.Set(name, &user{Name: name})
		other.Set(name, &user{Name: name})
	}
	encodeToo, decodeToo := Gob[string, *user]()
	var files, others [][]byte
	for range 3 {
		var file, otherFile bytes.Buffer
		if err := c.Save(&file, func(dst []byte, k string, v *user) ([]byte, error) {
			if otherFile.Len() == 0 && len(files) > 0 {
				if err := other.Save(&otherFile, encodeToo); err != nil {
					t.Error(err)
				}
			}
			return encode(dst, k, v)
		}); err != nil {
			t.Fatal(err)
		}
		files = append(files, file.Bytes())
		if otherFile.Len() > 0 {
			others = append(others, otherFile.Bytes())
		}
	}
	check := func(file []byte, decode func([]byte) (string, *user, error)) {
		t.Helper()
		to := cache.Must(cache.Options[string, *user]{})
		if n, err := to.Restore(bytes.NewReader(file), decode); n != 3 || err != nil {
			t.Errorf("Restore = %d, %v", n, err)
		}
		for k, v := range maps.Collect(to.All()) {
			if v.Name != k {
				t.Errorf("%s came back as %s", k, v.Name)
			}
		}
	}
	for i := range files {
		check(files[i], decode)
		_, fresh := Gob[string, *user]()
		check(files[i], fresh)
	}
	for i := range others {
		check(others[i], decodeToo)
	}
}

// TestGobAfterAnError checks that an entry that cannot be encoded does not spoil those after it.
func TestGobAfterAnError(t *testing.T) {
	encode, decode := Gob[string, any]()
	if b, err := encode(nil, "a", func() {}); err == nil {
		t.Fatalf("a function became %q", b)
	}
	b, err := encode(nil, "b", "text")
	if err != nil {
		t.Fatal(err)
	}
	if k, v, err := decode(b); k != "b" || v != "text" || err != nil {
		t.Errorf("%v, %v, %v", k, v, err)
	}
}

// TestGobWithoutItsBeginning checks that an entry out of its stream is an error that says so.
func TestGobWithoutItsBeginning(t *testing.T) {
	encode, _ := Gob[string, int]()
	_, _ = encode(nil, "a", 1)
	b, _ := encode(nil, "b", 2)
	_, decode := Gob[string, int]()
	if k, v, err := decode(b); err == nil || !strings.Contains(err.Error(), "no beginning") {
		t.Errorf("%v, %v, %v", k, v, err)
	}
}
