package near_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

type user struct {
	Name string
	Tags []string
}

// Catches: a codec that loses something, or that swallows an error.
func TestJSON(t *testing.T) {
	codec := near.JSON[*user]()
	data, err := codec.Encode(&user{"Ann", []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := codec.Decode(data); err != nil || got.Name != "Ann" || strings.Join(got.Tags, "") != "ab" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := codec.Decode([]byte(`{"Name": 1}`)); err == nil {
		t.Error("a number for a string is no error")
	}
	for _, name := range []string{"a\xffb", "\xff"} {
		if data, err := codec.Encode(&user{name, nil}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%q, which is not UTF-8: %s, %v", name, data, err)
		}
	}
	for _, name := range []string{"\ufffd", `\ufffd`, `\\ufffd`, "\x00"} {
		data, err := codec.Encode(&user{name, nil})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.Decode(data); err != nil || got.Name != name {
			t.Errorf("%q became %q, %v", name, got.Name, err)
		}
	}
	if _, err := near.JSON[chan int]().Encode(nil); err == nil {
		t.Error("a channel is no error")
	}
}

type watcher struct{ near.Watcher }

type lagger struct{ watcher }

func (lagger) MaxLag() time.Duration { return 5 * time.Second }

// Catches: a source that beats too slowly for its watcher.
func TestMaxLagOfAWatcher(t *testing.T) {
	if got := near.MaxLag(watcher{}); got != time.Second {
		t.Errorf("of a watcher that does not say: %v", got)
	}
	if got := near.MaxLag(lagger{}); got != 5*time.Second {
		t.Errorf("of one that says 5 s: %v", got)
	}
}
