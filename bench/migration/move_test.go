package migration

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

// move gives a cache, made with other options, the entries of another one, with the time that each
// has left. Keys that have a value there already keep that.
func move[K comparable, V any](from, to *cache.Cache[K, V]) {
	for e := range from.Entries() {
		to.GetOrSetWithExpire(e.Key, e.Value, e.TTL)
	}
}

func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		from.Set("an hour", 1)
		from.SetWithExpire("for ever", 1, 0)
		from.Set("newer there", 1)
		time.Sleep(time.Hour / 2)
		to := pinwheel(t, cache.Options[string, int]{Limit: 10, Expire: time.Minute, Policy: cache.Adaptive})
		to.Set("newer there", 2)
		move(from, to)
		want(t, "entries", to.Len(), 3)
		want(t, "value of the newer one", value(to.Get("newer there")), 2)
		time.Sleep(time.Hour/2 - 1)
		want(t, "there until its hour has passed", has(to.Get("an hour")), true)
		time.Sleep(time.Nanosecond)
		want(t, "there after its hour", has(to.Get("an hour")), false)
		time.Sleep(1000 * time.Hour)
		want(t, "there for ever", has(to.Get("for ever")), true)
	})
}

// Restore keeps the weights of a cache that has weighed. What is moved is weighed again.
func TestRestoreKeepsWeights(t *testing.T) {
	weighing := func(weight uint32) *cache.Cache[string, int] {
		return pinwheel(t, cache.Options[string, int]{
			MaxWeight: 100,
			Weigh:     func(string, int) uint32 { return weight },
		})
	}
	from := weighing(1)
	from.Set("k", 1)
	encode, decode := codec.JSON[string, int]()
	var snapshot bytes.Buffer
	want(t, "error of Save", from.Save(&snapshot, encode), nil)
	restored, moved := weighing(50), weighing(50)
	want(t, "entries restored", must(restored.Restore(&snapshot, decode)), 1)
	move(from, moved)
	want(t, "restored: weight", restored.Stats().Weight, 1)
	want(t, "moved: weight", moved.Stats().Weight, 50)
}

// Each limit has a method that changes it, and none makes the other kind of it.
func TestResizeIsForItsOwnLimit(t *testing.T) {
	counted := pinwheel(t, cache.Options[int, int]{Limit: 1})
	weighed := pinwheel(t, cache.Options[int, int]{
		MaxWeight: 10,
		Weigh:     func(int, int) uint32 { return 10 },
	})
	want(t, "Limit: ResizeWeight is refused", errors.Is(counted.ResizeWeight(20), cache.ErrArgument), true)
	want(t, "MaxWeight: Resize is refused", errors.Is(weighed.Resize(2), cache.ErrArgument), true)
	want(t, "Limit: error of Resize", counted.Resize(2), nil)
	want(t, "MaxWeight: error of ResizeWeight", weighed.ResizeWeight(20), nil)
	for key := range 10 {
		counted.Set(key, 1)
		weighed.Set(key, 1)
	}
	want(t, "Limit: entries", counted.Len(), 2)
	want(t, "MaxWeight: entries", weighed.Len(), 2)
}
