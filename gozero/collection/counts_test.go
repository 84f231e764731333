package collection_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	theirs "github.com/zeromicro/go-zero/core/collection"

	"github.com/pinwheel-cache/pinwheel/gozero/collection"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestTakeCounts shows how Take counts in both. To go-zero a caller that joins a fetch
// is a hit, and one whose fetch fails is nothing. Ours were misses: neither found a
// value in the cache.
func TestTakeCounts(t *testing.T) {
	t.Run("go-zero", func(t *testing.T) {
		c, err := theirs.NewCache(time.Hour)
		must(t, err)
		twice(c.Take)
		counts := reflect.ValueOf(c).Elem().FieldByName("stats").Elem()
		if hits, misses := counts.FieldByName("hit").Uint(), counts.FieldByName("miss").Uint(); hits != 1 || misses != 1 {
			t.Errorf("%d hits, %d misses", hits, misses)
		}
	})
	inBubble(t, "ours", func(t *testing.T) {
		twice(newCache(t, time.Hour, collection.WithName("counts")).Take)
		for _, c := range stats.Caches() {
			if c.Name != "counts" {
				continue
			}
			if s := c.Snapshot; s.Hits != 0 || s.Misses != 3 || s.Loads.Waiters != 1 || s.Loads.Failed.Count() != 1 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// twice takes a key twice at once, and another in vain.
func twice(take func(string, func() (any, error)) (any, error)) {
	begun, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = take("a", func() (any, error) { close(begun); time.Sleep(10 * ms); return 1, nil })
	}()
	<-begun
	_, _ = take("a", func() (any, error) { return 1, nil })
	<-done
	_, _ = take("b", func() (any, error) { return nil, errors.New("failed") })
}
