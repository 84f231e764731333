package relay_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// found has a fleet read over a store and a source until the oracle finds a stale answer, while the
// database answers late now and then.
func found(t *testing.T, design func(*redis.Redis, *relay.Relayed) (near.Store, near.Source)) {
	t.Helper()
	s, db := server(t), &database{}
	f := neartest.NewFleet(db, maxLag)
	for range 2 {
		r := open(t, s.Addr)
		store, source := design(r, over(t, r))
		a := neartest.NewAudit(source)
		f.Join(cached{newCache(t, store, a, near.Bypass)}, a)
	}
	r, _ := start(t, relay.Options{Source: db, Redis: open(t, s.Addr)})
	f.Run(t, func() {
		for end := time.Now().Add(30 * time.Second); f.Stale() == 0 && time.Now().Before(end); {
			db.answer(0)
			time.Sleep(4 * maxLag) // the last late answer is still to come
			db.answer(3 * maxLag / 2)
			time.Sleep(4 * maxLag)
		}
	})
	t.Logf("%v; %+v", f, r.Status())
	if f.Stale() == 0 {
		t.Error("the oracle finds nothing")
	}
}

// Catches: a store that is read whether or not a relay vouches for it, which looks right as long as
// the relay runs.
func TestOracleSeesUnvouchedStore(t *testing.T) {
	t.Parallel()
	found(t, func(r *redis.Redis, o *relay.Relayed) (near.Store, near.Source) { return r, o })
}

// oneBeat is a source that vouches when it hears the end of a cycle, whenever that began. The store is read
// only while two beats vouch for it.
type oneBeat struct {
	*redis.Redis
	store *relay.Relayed
}

func (s oneBeat) Watch(ctx context.Context, w near.Watcher) {
	chain, err := s.Redis.Chain()
	if err != nil {
		panic(err)
	}
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { s.store.Watch(ctx, neartest.NewRecorder(maxLag)) })
	s.Redis.Watch(ctx, &oneBeatWatcher{Watcher: w, chain: chain})
}

type oneBeatWatcher struct {
	near.Watcher
	chain *redis.Chain
	asked time.Time
}

func (w *oneBeatWatcher) MaxLag() time.Duration  { return maxLag / 2 }
func (w *oneBeatWatcher) Current(asOf time.Time) { w.asked = asOf }
func (w *oneBeatWatcher) Changed(keys ...string) {
	w.Watcher.Changed(keys...)
	for _, key := range keys {
		if _, ok := w.chain.Heard(key); ok && !w.asked.IsZero() {
			w.Watcher.Current(w.asked)
		}
	}
}

// Catches: a source that vouches at the end of a cycle that began before its question.
func TestOracleSeesEndWithoutBegin(t *testing.T) {
	t.Parallel()
	found(t, func(r *redis.Redis, o *relay.Relayed) (near.Store, near.Source) { return o, oneBeat{r, o} })
}
