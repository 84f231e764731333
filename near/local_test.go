package near_test

import (
	"context"
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
		var ttl time.Duration
		load := func(_ context.Context, l *cache.Load[int]) (int, error) {
			ttl = l.Expire
			return 1, nil
		}
		loadMany := func(ctx context.Context, _ []string, loads []*cache.Load[int]) (map[string]int, error) {
			_, err := load(ctx, loads[0])
			return nil, err
		}
		local, err := near.NewLocal(source, near.LocalOptions[string, int]{Cache: cache.Options[string, int]{
			Expire: time.Minute, LoadMany: loadMany,
			Load: func(ctx context.Context, _ string, l *cache.Load[int]) (int, error) { return load(ctx, l) },
		}})
		must(t, err)
		defer local.Close(context.Background())
		synctest.Wait()
		told := func(key string) time.Duration {
			_, _ = local.Take(t.Context(), key, load)
			taken := ttl
			_, _ = local.Fetch(t.Context(), key+" of Fetch")
			fetched := ttl
			if _, _ = local.FetchMany(t.Context(), []string{key + " of FetchMany"}); fetched != taken || ttl != taken {
				t.Errorf("Take, Fetch and FetchMany of %s: %v, %v and %v", key, taken, fetched, ttl)
			}
			return taken
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

// TestForgetPrefix checks that all keys with a prefix, and no others, leave memory, and that a load of one that is under
// way is not kept.
func TestForgetPrefix(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := new(hand)
		local, err := near.NewLocal(source, near.LocalOptions[string, int]{Prefix: "k:"})
		must(t, err)
		defer local.Close(context.Background())
		synctest.Wait()
		source.ChangedAll()
		source.vouch()
		take := func(key string, want int, takes time.Duration) {
			t.Helper()
			value, err := local.Take(t.Context(), key, func(context.Context, *cache.Load[int]) (int, error) {
				time.Sleep(takes)
				return want, nil
			})
			if value != want || err != nil {
				t.Errorf("%s is %d, %v, want %d", key, value, err, want)
			}
		}
		take("a:1", 1, 0)
		take("b:1", 1, 0)
		go take("a:2", 1, time.Millisecond)
		synctest.Wait()
		local.ForgetPrefix("a:")
		time.Sleep(2 * time.Millisecond)
		for _, key := range []string{"a:1", "a:2"} {
			if value, ok := local.Get(key); ok {
				t.Errorf("%s is still %d", key, value)
			}
		}
		if _, ok := local.Get("b:1"); !ok {
			t.Error("another key is gone")
		}
		local.ForgetPrefix("")
		if _, ok := local.Get("b:1"); ok {
			t.Error("the empty prefix leaves a key")
		}
	})
}
