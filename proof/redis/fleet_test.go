package redis_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
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
	patience  = time.Minute // for what must happen
)

// A fleet is some instances of a service, with connections of their own, and what they read and write.
type fleet struct {
	neartest.Traffic
	caches []neartest.Cache
}

// connect makes an instance.
func (f *fleet) connect(t testing.TB, o redis.Options) {
	t.Helper()
	o.Prefixes = []string{prefix}
	r, err := redis.New(t.Context(), o)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); { // ConnWriteTimeout is short
		r, err = redis.New(t.Context(), o)
	}
	check(t, err)
	c, err := near.New(r, r, near.Options[int, int]{
		Prefix: prefix, MaxLag: maxLag, Expire: time.Minute, Lease: 200 * time.Millisecond, Timeout: o.Client.ConnWriteTimeout, Audit: 1,
	})
	check(t, err)
	f.add(c)
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if of := c.Stats().Near.Audits; of.Violations > 0 {
			t.Errorf("the auditor has found fault with a source that keeps its word: %+v", of)
		}
		r.Close()
	})
}

func (f *fleet) add(c neartest.Cache, leave ...time.Duration) {
	f.caches = append(f.caches, c)
	f.Add(c, maxLag, leave...)
}

// newFleet connects three instances to addrs.
func newFleet(t testing.TB, o redis.Options, addrs ...string) *fleet {
	t.Helper()
	f := &fleet{}
	o.Client.InitAddress = addrs
	o.Client.ConnWriteTimeout = maxLag
	for range instances {
		f.connect(t, o)
	}
	return f
}

// foreignDel returns a removal by a program without near caches, over a connection of its own. It
// has further commands follow.
func foreignDel(t testing.TB, s *redistest.Server, further ...string) neartest.Removal {
	t.Helper()
	plain, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true, AlwaysRESP2: true})
	check(t, err)
	t.Cleanup(plain.Close)
	return func(ctx context.Context, _, key int) error {
		commands := rueidis.Commands{plain.B().Del().Key(keyOf(key)).Build()}
		for _, name := range further {
			commands = append(commands, plain.B().Arbitrary(name).Build())
		}
		for _, reply := range plain.DoMulti(ctx, commands...) {
			if err := reply.Error(); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	server = redistest.Serve
	do     = redistest.Do
	check  = settle.Must // ends a test with an error that it did not expect
)

func keyOf(key int) string { return prefix + strconv.Itoa(key) }
