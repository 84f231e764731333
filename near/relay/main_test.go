package relay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

const (
	maxLag = 300 * time.Millisecond
	prefix = "row:"
	name   = "test"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func server(t testing.TB, args ...string) *redistest.Server {
	t.Helper()
	s, err := redistest.Start(args...)
	return redistest.Started(t, s, err)
}

// open connects to a Redis with a relay.
func open(t testing.TB, addr string) *redis.Redis {
	t.Helper()
	r, err := redis.New(t.Context(), redis.Options{
		Client:   rueidis.ClientOption{InitAddress: []string{addr}},
		Prefixes: []string{prefix}, Relay: name, StartWithoutRedis: true,
	})
	check(t, err)
	t.Cleanup(r.Close)
	return r
}

func over(t testing.TB, r *redis.Redis) *relay.Relayed {
	t.Helper()
	o, err := relay.Over(r)
	check(t, err)
	return o
}

// start runs a relay until the test ends, or stop is called.
func start(t testing.TB, o relay.Options) (r *relay.Relay, stop func()) {
	t.Helper()
	o.MaxLag = maxLag
	o.OnError = func(err error) { t.Log("relay:", err) }
	r, err := relay.New(o)
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	stop = func() { cancel(); neartest.InTime(t, "Run", func() { <-done }) }
	t.Cleanup(stop)
	return r, stop
}

// cached is a neartest.Instance.
type cached struct{ *near.Cache[int, int] }

func (c cached) Take(ctx context.Context, row int, load func(context.Context) (int, error)) (int, error) {
	return c.Cache.Take(ctx, row, load)
}

// newCache returns a cache of an instance.
func newCache(t testing.TB, store near.Store, source near.Source, away near.Away) *near.Cache[int, int] {
	t.Helper()
	c, err := near.New(store, source, near.Options[int, int]{
		Prefix: prefix, Expire: time.Minute, MaxLag: maxLag, Away: away,
	})
	check(t, err)
	t.Cleanup(func() {
		neartest.InTime(t, "Close", func() {
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	})
	return c
}

// A database is a neartest.Truth in memory, and the source of its changes. It goes on where it was after
// a break, as postgres.Changes does.
type database struct {
	mu       sync.Mutex
	versions [neartest.Rows]int
	changes  []string
	delay    time.Duration // of the answers to polls
}

func (d *database) Read(_ context.Context, row int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.versions[row], nil
}

func (d *database) Write(_ context.Context, row, version int) error {
	time.Sleep(rand.N(time.Second / 10)) // a row is seldom written, so that a lie is not mended soon
	d.mu.Lock()
	defer d.mu.Unlock()
	d.versions[row] = version
	d.changes = append(d.changes, fmt.Sprint(prefix, row))
	return nil
}

// answer has the database answer polls after a delay.
func (d *database) answer(delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = delay
}

// Watch polls for changes.
func (d *database) Watch(ctx context.Context, w near.Watcher) {
	told := -1
	for tick := time.NewTicker(near.MaxLag(w) / 3); ; {
		asked := time.Now()
		d.mu.Lock()
		all, delay := d.changes, d.delay
		d.mu.Unlock()
		time.Sleep(delay)
		if told < 0 {
			w.ChangedAll()
		} else {
			w.Changed(all[told:]...)
		}
		told = len(all)
		w.Current(asked)
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}
