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
	must(t, err)
	if got, err := codec.Decode(data); err != nil || got.Name != "Ann" || strings.Join(got.Tags, "") != "ab" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := codec.Decode([]byte(`{"Name": 1}`)); err == nil {
		t.Error("a number for a string is no error")
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
