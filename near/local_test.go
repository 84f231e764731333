package near_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// Catches: a load that is not told, by the TTL, whether its value may be kept.
func TestLoadIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := new(hand)
		local, err := near.NewLocal(source, near.LocalOptions[string, int]{Cache: cache.Options[string, int]{Expire: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close(context.Background())
		synctest.Wait()
		told := func(key string) (ttl time.Duration) {
			_, _ = local.Take(t.Context(), key, func(_ context.Context, l *cache.Load[int]) (int, error) {
				ttl = l.Expire
				return 1, nil
			})
			return ttl
		}
		if got := told("k"); got >= 0 {
			t.Errorf("not connected: %v", got)
		}
		source.ChangedAll()
		source.vouch()
		if got := told("k"); got != time.Minute {
			t.Errorf("serving: %v", got)
		}
		if got := told("uncovered:k"); got >= 0 {
			t.Errorf("uncovered: %v", got)
		}
		time.Sleep(time.Hour)
		if got := told("k"); got >= 0 {
			t.Errorf("not vouched for: %v", got)
		}
	})
}

// TestErrorsOfALocal checks that errors are kept as the Load or Negative says, and for no
// longer than MaxLag while nothing is vouched for.
func TestErrorsOfALocal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := new(hand)
		wrong := errors.New("wrong")
		local, err := near.NewLocal(source, near.LocalOptions[string, int]{MaxLag: time.Minute, Cache: cache.Options[string, int]{
			Negative: func(err error) time.Duration {
				if err == wrong {
					return time.Hour
				}
				return 0
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close(context.Background())
		synctest.Wait()
		serving := false
		// asks reports whether a Take at this moment calls its load.
		asks := func(key string, keep time.Duration, fails error) (asked bool) {
			if serving {
				source.vouch()
			}
			_, err := local.Take(t.Context(), key, func(_ context.Context, l *cache.Load[int]) (int, error) {
				asked, l.KeepError = true, keep
				return 0, fails
			})
			if err != fails {
				t.Errorf("%s: %v, want %v", key, err, fails)
			}
			return asked
		}
		check := func(when string, keptFor time.Duration) {
			t.Helper()
			for _, one := range []struct {
				key   string
				keep  time.Duration
				fails error
				kept  bool
			}{
				{"by Negative", 0, wrong, true},
				{"by the load", time.Hour, near.ErrNotFound, true},
				{"by nobody", 0, near.ErrNotFound, false},
				{"against Negative", -1, wrong, false},
			} {
				local.Forget(one.key)
				if !asks(one.key, one.keep, one.fails) || asks(one.key, one.keep, one.fails) == one.kept {
					t.Errorf("%s, %s: the error is kept: %t", when, one.key, !one.kept)
				}
				if one.kept {
					time.Sleep(keptFor - 1)
					early := asks(one.key, one.keep, one.fails)
					time.Sleep(time.Nanosecond)
					if late := asks(one.key, one.keep, one.fails); early || !late {
						t.Errorf("%s, %s: asked before %v: %t, and after: %t", when, one.key, keptFor, early, late)
					}
				}
			}
		}
		check("not connected", time.Minute)
		source.ChangedAll()
		serving = true
		check("serving", time.Hour)
	})
}
