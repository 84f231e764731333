package postgres_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// A relayed is a fleet whose instances share a Redis, from which one of two relays removes what changes in
// the database. The relays reach the servers through proxies of their own, and so do the instances.
type relayed struct {
	*neartest.Fleet
	database  *pgtest.Server
	redis     *redistest.Server
	toRedis   *neartest.Proxy // of the relays
	toPG      *neartest.Proxy // of the relays
	instances *neartest.Proxy // of the instances, to Redis
	relays    [2]*running
}

// newRelayed runs the servers, two relays and three instances.
func newRelayed(t testing.TB) *relayed {
	t.Helper()
	f := &relayed{database: server(t)}
	store, err := redistest.Start()
	f.redis = redistest.Started(t, store, err)
	f.toRedis, f.instances = neartest.NewProxy(t, store.Addr), neartest.NewProxy(t, store.Addr)
	f.toPG = neartest.NewProxy(t, f.database.Addr)
	f.Fleet = neartest.NewFleet(newTruth(t, f.database), maxLag)
	for range instances {
		over, err := relay.Over(f.client(t, f.instances.Addr))
		check(t, err)
		audit := neartest.NewAudit(over)
		f.Join(newCached(t, over, audit), audit)
	}
	for i := range f.relays {
		f.relays[i] = &running{new: func() *relay.Relay { return f.newRelay(t) }}
		f.relays[i].start()
		t.Cleanup(f.relays[i].stop)
	}
	return f
}

// client connects to Redis.
func (f *relayed) client(t testing.TB, addr string) *redis.Redis {
	t.Helper()
	r, err := redis.New(t.Context(), redis.Options{
		Client:   rueidis.ClientOption{InitAddress: []string{addr}},
		Prefixes: []string{prefix}, Relay: "main", StartWithoutRedis: true,
	})
	check(t, err)
	t.Cleanup(r.Close)
	return r
}

// newRelay returns a relay that has not begun.
func (f *relayed) newRelay(t testing.TB) *relay.Relay {
	t.Helper()
	url := strings.Replace(f.database.URL(), f.database.Addr, f.toPG.Addr, 1)
	changes, err := postgres.NewChanges(pool(t, url), postgres.ChangesOptions{Tables: []postgres.Table{rowsTable}})
	check(t, err)
	lock, err := relay.NewAdvisoryLock(url, "main")
	check(t, err)
	r, err := relay.New(relay.Options{Source: changes, Redis: f.client(t, f.toRedis.Addr), Lock: lock, MaxLag: maxLag})
	check(t, err)
	return r
}

// A cached is a neartest.Instance.
type cached struct{ *near.Cache[int, int] }

func newCached(t testing.TB, store near.Store, source near.Source) cached {
	t.Helper()
	c, err := near.New(store, source, near.Options[int, int]{Prefix: prefix, Expire: time.Minute, MaxLag: maxLag, Timeout: time.Second})
	check(t, err)
	t.Cleanup(func() {
		neartest.InTime(t, "Close", func() {
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	})
	return cached{c}
}

func (c cached) Take(ctx context.Context, row int, load func(context.Context) (int, error)) (int, error) {
	return c.Cache.Take(ctx, row, load)
}

// A running is a process that relays.
type running struct {
	new    func() *relay.Relay
	relay  *relay.Relay
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (r *running) start() {
	if r.relay == nil {
		r.relay = r.new()
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.done.Go(func() { r.relay.Run(ctx) })
}

// stop ends the relay in the middle of what it does, and it leaves nothing behind.
func (r *running) stop() {
	r.cancel()
	r.done.Wait()
}

// leads waits until one of the relays has written a beat.
func (f *relayed) leads(t testing.TB) (leader *running) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, r := range f.relays {
			if s := r.relay.Status(); s.Leads && !s.LastBeat.IsZero() {
				return r
			}
		}
	}
	t.Fatal("no relay leads")
	return nil
}

// relayFaults are those of a relay and what it needs, by name.
var relayFaults = map[string]func(t testing.TB, f *relayed){
	"relay killed": func(t testing.TB, f *relayed) {
		leader := f.leads(t)
		leader.stop()
		f.leads(t)
		leader.start()
	},
	"no relay": func(t testing.TB, f *relayed) {
		for _, r := range f.relays {
			r.stop()
		}
		time.Sleep(2 * maxLag)
		for _, r := range f.relays {
			r.start()
		}
	},
	"Redis killed": func(t testing.TB, f *relayed) { f.redis.Kill(); check(t, f.redis.Restart()) },
	"Redis goes back": func(t testing.TB, f *relayed) {
		_, err := f.redis.Do("SAVE")
		check(t, err)
		time.Sleep(maxLag)
		f.redis.Kill()
		check(t, f.redis.Restart())
	},
	"Redis stands still": func(t testing.TB, f *relayed) {
		check(t, f.redis.Pause())
		time.Sleep(rand.N(3 * maxLag))
		check(t, f.redis.Resume())
	},
	"Redis emptied": func(t testing.TB, f *relayed) { _, err := f.redis.Do("FLUSHALL"); check(t, err) },
	"Redis cut off from instances": func(t testing.TB, f *relayed) {
		f.instances.Suffer(neartest.Faults["cut"], maxLag, neartest.ToServer, neartest.FromServer)
	},
	"Redis cut off from relays": func(t testing.TB, f *relayed) {
		f.toRedis.Suffer(neartest.Faults["cut"], maxLag, neartest.FromServer)
	},
	"Redis silent to relays": func(t testing.TB, f *relayed) {
		f.toRedis.Suffer(neartest.Faults["stall and go on"], 2*maxLag, neartest.FromServer)
	},
	"database silent to relays": func(t testing.TB, f *relayed) {
		f.toPG.Suffer(neartest.Faults["stall and go on"], 2*maxLag, neartest.FromServer)
	},
	"database slow to relays": func(t testing.TB, f *relayed) {
		f.toPG.Suffer(neartest.Faults["slow"], 2*maxLag, neartest.ToServer, neartest.FromServer)
	},
	"connections killed": func(t testing.TB, f *relayed) { check(t, f.database.Exec(killAll)) },
	"database crashed":   func(t testing.TB, f *relayed) { f.database.Crash(); check(t, f.database.Restart()) },
	"database restarted": func(t testing.TB, f *relayed) { f.database.Shutdown(); check(t, f.database.Restart()) },
}

// TestRelayFaults has three instances read through Redis while rows are written by plain SQL, and relays,
// Redis, the database and the network fail.
//
// Catches: a fault after which an instance serves a version that was replaced more than MaxLag ago, from
// memory or from Redis.
func TestRelayFaults(t *testing.T) {
	t.Parallel()
	f := newRelayed(t)
	f.leads(t)
	f.Run(t, func() {
		for _, name := range slices.Sorted(maps.Keys(relayFaults)) {
			relayFaults[name](t, f)
			f.leads(t)
			time.Sleep(maxLag)
		}
	})
	f.Verdict(t)
	for _, r := range f.relays {
		t.Logf("%+v", r.relay.Status())
	}
}
