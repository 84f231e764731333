package redis_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
)

// TestNoConvoyOverRedis has an instance fail to load a key, in the two ways in which servers tell of
// changes, while others wait for its lease. Their fetches end only when all of them are under way.
//
// Catches: instances that pass a lease on, so that one waits for the fetches of several others.
func TestNoConvoyOverRedis(t *testing.T) {
	inEachWay(t, func(t *testing.T, way []string) {
		t.Parallel()
		const waiting = 5
		s := server(t, way...)
		caches := make([]*near.Cache[int, row], waiting+1)
		for i := range caches {
			r, err := redis.New(t.Context(), redis.Options{Prefixes: []string{prefix}, Client: rueidis.ClientOption{InitAddress: []string{s.Addr}}})
			check(t, err)
			caches[i], err = near.New(r, r, near.Options[int, row]{Prefix: prefix, Lease: time.Minute})
			check(t, err)
			t.Cleanup(func() { check(t, caches[i].Close(context.Background())); r.Close() })
		}
		broken := errors.New("the database has failed")
		began, fail := make(chan struct{}), make(chan struct{})
		results := make(chan error, waiting+1)
		go func() {
			_, err := caches[0].Take(t.Context(), 1, func(context.Context) (row, error) {
				close(began)
				<-fail
				return row{}, broken
			})
			results <- err
		}()
		<-began
		var under atomic.Int64
		all := make(chan struct{})
		for _, c := range caches[1:] {
			go func() {
				_, err := c.Take(t.Context(), 1, func(context.Context) (row, error) {
					if under.Add(1) == waiting {
						close(all)
					}
					<-all
					return row{}, broken
				})
				results <- err
			}()
		}
		for _, c := range caches[1:] {
			for c.Stats().Near.Waits == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		close(fail)
		neartest.InTime(t, "fetches side by side", func() {
			for range waiting + 1 {
				if err := <-results; !errors.Is(err, broken) {
					t.Errorf("got %v", err)
				}
			}
		})
	})
}
