package near_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// fetchMany is fetch for TakeMany.
func (r *rig) fetchMany(ctx context.Context, missing []string) (map[string]string, error) {
	values := map[string]string{}
	for _, key := range missing {
		value, err := r.fetch(ctx)
		if err != nil {
			return nil, err
		}
		values[key] = value
	}
	return values, nil
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

// TestDecodeThatDoesNotReturn checks that a value for which Decode panics or calls Goexit is
// loaded anew, as one for which it returns an error: else nobody gets the key again.
func TestDecodeThatDoesNotReturn(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		for _, many := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				codec := near.JSON[string]()
				codec.Decode = func(data []byte) (string, error) {
					if string(data) == "bad" {
						fail()
					}
					return near.JSON[string]().Decode(data)
				}
				r := newRig(t, near.Options[string, string]{Values: codec})
				r.server.put("k", near.Item{State: near.Found, Value: []byte("bad")})
				ended := make(chan struct{})
				go func() { defer close(ended); takeK(t.Context(), r.Cache, many, r.fetch) }()
				<-ended
				if item := r.server.look("k"); string(item.Value) == "bad" {
					t.Errorf("%s, many %t: the value is still there", name, many)
				}
				before := r.fetched
				if value, err := r.Take(t.Context(), "k", r.fetch); err != nil || value != "fetched" {
					t.Errorf("after %s, many %t: %q, %v", name, many, value, err)
				}
				if name == "panic" && (before != 1 || r.fetched != 1) {
					t.Errorf("%s, many %t: fetched %d times, and then %d", name, many, before, r.fetched-before)
				}
			})
		}
	}
}

// TestCodecPanics checks that an error and a panic of a codec are errors, and leave no lease, and
// that those of the Parse of keys count as a text that is no key.
func TestCodecPanics(t *testing.T) {
	for _, panics := range []bool{false, true} {
		inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
			bad := errors.New("bad")
			fail := func() error {
				if panics {
					panic(bad)
				}
				return bad
			}
			c := r.join(r.server, near.Options[string, string]{
				Prefix: "p:",
				Values: near.Codec[string]{
					Encode: func(string) ([]byte, error) { return nil, fail() },
					Decode: func([]byte) (string, error) { return "", fail() },
				},
				Keys: near.Text[string]{String: strings.Clone, Parse: func(string) (string, error) { return "", fail() }},
			})
			calls := map[string]func() error{
				"Set":      func() error { return c.Set(t.Context(), "k", "v") },
				"Take":     func() error { _, err := c.Take(t.Context(), "k", r.fetch); return err },
				"TakeMany": func() error { _, err := c.TakeMany(t.Context(), []string{"k"}, r.fetchMany); return err },
				"Get": func() error {
					r.store("p:there", "1", 0)
					_, _, err := c.Get(t.Context(), "there")
					return err
				},
			}
			for name, call := range calls {
				err := call()
				var panicked *cache.PanicError
				if is := errors.As(err, &panicked); is != panics || is && len(panicked.Stack) == 0 || !errors.Is(err, bad) {
					t.Errorf("%s: %v", name, err)
				}
				if !panics && name != "Get" && err != bad {
					t.Errorf("%s: %v, want the error of the codec itself", name, err)
				}
			}
			if len(r.server.items) != 1 {
				t.Errorf("the store has %v, want what Get has found there", r.server.items)
			}
			r.hand.Changed("p:k")
		})
	}
}
