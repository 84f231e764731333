package migration

import (
	"testing"
	"testing/synctest"
	"time"

	otterv1 "github.com/maypok86/otter"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TTLs of otter v1 are whole seconds, rounded up: 0 ends at once. A deadline before the start of
// the cache wraps around 32 bits, into the next century.
func TestOtterV1TTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := must(otterv1.MustBuilder[string, int](10).WithVariableTTL().Build())
		p := pinwheel(t, cache.Options[string, int]{})
		for key, ttl := range map[string]time.Duration{"short": time.Millisecond, "zero": 0, "negative": -time.Hour} {
			o.Set(key, 1, ttl)
			p.SetWithExpire(key, 1, ttl)
		}
		time.Sleep(500 * time.Millisecond)
		want(t, "otter v1: half a second after a TTL of 1 ms", o.Has("short"), true)
		want(t, "otter v1: there after a TTL of 0", o.Has("zero"), false)
		want(t, "ours: half a second after a TTL of 1 ms", has(p.Get("short")), false)
		want(t, "ours: there after a negative TTL", has(p.Get("negative")), false)
		time.Sleep(2 * time.Hour)
		want(t, "otter v1: hours after a negative TTL", o.Has("negative"), true)
		want(t, "ours: hours after a TTL of 0", has(p.Get("zero")), true)
		o.Close()
		time.Sleep(2 * time.Second) // its goroutine sleeps for a second
	})
}

// Its Set refuses what costs more than a tenth of the capacity. Here only more than all is refused.
func TestOtterV1Cost(t *testing.T) {
	weigh := func(_ string, v int) uint32 { return uint32(v) }
	o := must(otterv1.MustBuilder[string, int](100).Cost(weigh).Build())
	defer o.Close()
	p := pinwheel(t, cache.Options[string, int]{MaxWeight: 100, Weigh: weigh})
	p.Set("k", 11)
	want(t, "otter v1: a cost of 11 in 100", o.Set("k", 11), false)
	want(t, "ours: there with a weight of 11 in 100", has(p.Get("k")), true)
}
