package migration

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/viccon/sturdyc"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A refresh of sturdyc's stores what it read before a Delete.
func TestSturdycDeleteDuringRefresh(t *testing.T) {
	fetch := func(fetching, removed chan struct{}) func(context.Context) (int, error) {
		return func(context.Context) (int, error) {
			close(fetching)
			<-removed
			return 2, nil
		}
	}
	one := func(context.Context) (int, error) { return 1, nil }
	synctest.Test(t, func(t *testing.T) {
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour, Refresh: 1e-9})
		_, _ = p.TakeCtx(t.Context(), "k", one)
		time.Sleep(time.Second)
		fetching, removed := make(chan struct{}), make(chan struct{})
		_, _ = p.TakeCtx(t.Context(), "k", fetch(fetching, removed))
		<-fetching
		p.Del("k")
		close(removed)
		synctest.Wait()
		want(t, "ours: there after Del", has(p.Get("k")), false)
	})
	synctest.Test(t, func(t *testing.T) {
		s := sturdyc.New[int](100, 1, time.Hour, 10, sturdyc.WithNoContinuousEvictions(),
			sturdyc.WithEarlyRefreshes(1, 2, time.Hour, time.Minute))
		_, _ = s.GetOrFetch(t.Context(), "k", one)
		time.Sleep(time.Second)
		fetching, removed := make(chan struct{}), make(chan struct{})
		_, _ = s.GetOrFetch(t.Context(), "k", fetch(fetching, removed))
		<-fetching
		s.Delete("k")
		close(removed)
		synctest.Wait()
		want(t, "sturdyc: there after Delete", has(s.Get("k")), true)
	})
}
