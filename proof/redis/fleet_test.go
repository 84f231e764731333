package redis_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
	"go.uber.org/goleak"
)

// TestMain finds leaked goroutines. go-zero leaves one for each count of a cache.
func TestMain(m *testing.M) {
	redistest.VerifyTestMain(m, goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/stores/cache.NewStat.func1"))
}

const (
	maxLag    = 300 * time.Millisecond
	instances = 3
	prefix    = "row:"
)

// A row is the value of a key: its version.
type row struct{ Version int }

// A del removes the copy of a row in Redis.
type del func(ctx context.Context, row int) error

// A database is a neartest.Truth. A version is acknowledged when the copies of older ones are
// removed.
type database struct {
	remove  del
	removal sync.RWMutex // locked for reading by each

	mu   sync.Mutex
	rows [neartest.Rows]int
}

func (d *database) Read(_ context.Context, row int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows[row], nil
}

func (d *database) Write(ctx context.Context, row, version int) error {
	d.mu.Lock()
	d.rows[row] = version
	d.mu.Unlock()
	for d.removeOnce(ctx, row) != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func (d *database) removeOnce(ctx context.Context, row int) error {
	d.removal.RLock()
	defer d.removal.RUnlock()
	return d.remove(ctx, row)
}

// hold calls f while nobody removes.
func (d *database) hold(f func()) {
	d.removal.Lock()
	defer d.removal.Unlock()
	f()
}

// An instance is one with a cache that can remove.
type instance interface {
	neartest.Instance
	Del(ctx context.Context, rows ...int) error
}

// A fleet is some instances of a service, each with a cache and connections of its own.
type fleet struct {
	*neartest.Fleet
	db database
}

// newFleet returns a fleet whose writers remove by the caches of its instances.
func newFleet() *fleet {
	f := &fleet{}
	f.db.remove = f.del
	f.Fleet = neartest.NewFleet(&f.db, maxLag)
	return f
}

// connect makes three instances that reach Redis at addrs.
func connect(t testing.TB, o redis.Options, addrs ...string) *fleet {
	t.Helper()
	return connectBy(t, func(s near.Source) near.Source { return s }, o, addrs...)
}

// connectBy is connect with caches whose sources are changed.
func connectBy(t testing.TB, change func(near.Source) near.Source, o redis.Options, addrs ...string) *fleet {
	t.Helper()
	return connectWith(t, func(*near.Options[int, row]) {}, change, o, addrs...)
}

// connectWith is connectBy with caches whose options are changed too.
func connectWith(t testing.TB, tune func(*near.Options[int, row]), change func(near.Source) near.Source, o redis.Options, addrs ...string) *fleet {
	t.Helper()
	f := newFleet()
	o.Client.InitAddress, o.Client.ConnWriteTimeout, o.Prefixes = addrs, maxLag, []string{prefix}
	for range instances {
		r, err := redis.New(t.Context(), o)
		for end := time.Now().Add(startTime); err != nil && time.Now().Before(end); { // a busy machine: connections give up after maxLag
			time.Sleep(maxLag)
			r, err = redis.New(t.Context(), o)
		}
		check(t, err)
		audit := neartest.NewAudit(change(r))
		own := near.Options[int, row]{
			Prefix: prefix, MaxLag: maxLag, Expire: time.Minute, Lease: 200 * time.Millisecond, Timeout: maxLag,
		}
		tune(&own)
		c, err := near.New(r, audit, own)
		check(t, err)
		t.Cleanup(func() {
			neartest.InTime(t, "Close", func() {
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
				r.Close()
			})
		})
		f.Join(cached{c}, audit)
	}
	return f
}

const startTime = time.Minute // how long a busy machine may take to connect

// A cached is an instance with a near cache.
type cached struct{ *near.Cache[int, row] }

func (c cached) Take(ctx context.Context, key int, load func(context.Context) (int, error)) (int, error) {
	got, err := c.Cache.Take(ctx, key, func(ctx context.Context) (row, error) {
		version, err := load(ctx)
		return row{version}, err
	})
	return got.Version, err
}

// del removes by the cache of an instance.
func (f *fleet) del(ctx context.Context, row int) error {
	return f.Instances()[row%instances].(instance).Del(ctx, row)
}

// foreignDel returns a del by a program without near caches, over a connection of its own.
func foreignDel(t testing.TB, s *redistest.Server) del {
	t.Helper()
	plain, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true, AlwaysRESP2: true})
	check(t, err)
	t.Cleanup(plain.Close)
	return func(ctx context.Context, row int) error {
		return plain.Do(ctx, plain.B().Del().Key(keyOf(row)).Build()).Error()
	}
}

// either returns a del that chooses one of two at random.
func either(one, other del) del {
	return func(ctx context.Context, row int) error {
		if rand.N(2) == 0 {
			return one(ctx, row)
		}
		return other(ctx, row)
	}
}

func server(t testing.TB, args ...string) *redistest.Server {
	t.Helper()
	s, err := redistest.Start(args...)
	return redistest.Started(t, s, err)
}

func do(t testing.TB, s *redistest.Server, args ...string) {
	t.Helper()
	if _, err := s.Do(args...); err != nil && !rueidis.IsRedisNil(err) {
		t.Errorf("%.80q: %v", args, err)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func keyOf(row int) string { return prefix + strconv.Itoa(row) }
