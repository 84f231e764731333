package relay_test

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// Catches: an instance over a relayed Redis that serves what was replaced in the database more than
// MaxLag ago, while a relay ends and another begins.
func TestFleet(t *testing.T) {
	t.Parallel()
	s, db := server(t), &database{}
	f := neartest.NewFleet(db, maxLag)
	for range 3 {
		o := over(t, open(t, s.Addr))
		a := neartest.NewAudit(o)
		f.Join(cached{newCache(t, o, a, near.Bypass)}, a)
	}
	_, stop := start(t, relay.Options{Source: db, Redis: open(t, s.Addr)})
	f.Run(t, func() {
		time.Sleep(5 * maxLag)
		db.answer(maxLag)
		time.Sleep(3 * maxLag)
		db.answer(0)
		stop()
		time.Sleep(2 * maxLag)
		r, _ := start(t, relay.Options{Source: db, Redis: open(t, s.Addr)})
		time.Sleep(5 * maxLag)
		t.Logf("%+v", r.Status())
	})
	f.Verdict(t)
}
