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
