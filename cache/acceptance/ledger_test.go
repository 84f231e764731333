package acceptance

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestLedger lets many goroutines use every method at once on the real clock. Each value is
// unique. At the end each stored value has been reported exactly once, and no other value.
//
// Catches: reports lost or doubled between threads; values returned after they were reported
// as removed; data races.
func TestLedger(t *testing.T) {
	weigh := func(_, v int) uint32 { return uint32(v % 5) }
	for name, o := range map[string]cache.Options[int, int]{
		"no limit":       {},
		"tiny":           {Limit: 3},
		"one shard":      {Limit: 200, Expire: 3 * time.Millisecond, Jitter: 0.5},
		"many shards":    {Limit: 4096, Expire: 20 * time.Millisecond, Workers: 1},
		"weight":         {MaxWeight: 300, Weigh: weigh, Expire: 5 * time.Millisecond},
		"idle":           {Limit: 500, Idle: 2 * time.Millisecond, Workers: 2},
		"idle and TTL":   {Idle: 2 * time.Millisecond, Expire: 5 * time.Millisecond},
		"slow callbacks": {Limit: 50, Workers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(t, o, name == "slow callbacks")
			Together(8, l.Storm)
			l.Audit()
		})
	}
}
