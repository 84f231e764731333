package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"
	gozeroredis "github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/core/syncx"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

var errNoRow = errors.New("no such row")

// fills is a lock for each key. A caller holds it for reading from a query until its result is
// stored, and for writing while it removes the key. go-zero has no such lock: it may store a
// row that was changed meanwhile. A cache in front of it cannot help that, so these tests
// prevent it.
type fills [neartest.Rows]sync.RWMutex

// A decorated is a go-zero cache with a near cache in front.
type decorated struct {
	*gozero.Cache
	fills *fills
}

func (d decorated) Take(ctx context.Context, key int, load func(context.Context) (int, error)) (int, error) {
	var got row
	filling := false
	err := d.TakeCtx(ctx, &got, keyOf(key), func(v any) (err error) {
		d.fills[key].RLock()
		filling = true
		v.(*row).Version, err = load(ctx)
		return err
	})
	if filling {
		d.fills[key].RUnlock()
	}
	return got.Version, err
}

func (d decorated) Del(ctx context.Context, rows ...int) error {
	d.fills[rows[0]].Lock()
	defer d.fills[rows[0]].Unlock()
	return d.DelCtx(ctx, keyOf(rows[0]))
}

// newGoZeroFleet returns a fleet that reaches Redis at addr, and a del by an instance of go-zero
// without a near cache, at s.
func newGoZeroFleet(t *testing.T, s *redistest.Server, addr string) (*fleet, del) {
	t.Helper()
	logx.Disable()
	nodes := func(addr string) cache.CacheConf {
		return cache.CacheConf{{RedisConf: gozeroredis.RedisConf{Host: addr, Type: gozeroredis.NodeType, PingTimeout: 10 * time.Second}, Weight: 100}}
	}
	f, filling := newFleet(), new(fills)
	f.Patience = []time.Duration{time.Minute, time.Minute, time.Minute} // who leaves does not unlock
	for i := range instances {
		c, err := gozero.New(gozero.Conf{Name: fmt.Sprint(t.Name(), i), MaxLag: maxLag, Prefixes: []string{prefix}}, nodes(addr), errNoRow)
		check(t, err)
		t.Cleanup(func() { check(t, c.Close(context.Background())) })
		f.Join(decorated{c, filling}, nil)
	}
	plain := cache.New(nodes(s.Addr), syncx.NewSingleFlight(), cache.NewStat("plain"), errNoRow)
	return f, func(ctx context.Context, key int) error {
		filling[key].Lock()
		defer filling[key].Unlock()
		if rand.N(2) == 0 {
			return plain.DelCtx(ctx, keyOf(key))
		}
		version, err := f.db.Read(ctx, key) // each key has one writer
		return errors.Join(err, plain.SetCtx(ctx, keyOf(key), row{version}))
	}
}

// TestMixedGoZeroFleet lets instances of go-zero without a near cache change keys, by Del and
// by Set, while others with one read.
func TestMixedGoZeroFleet(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		s := server(t)
		f, remove := newGoZeroFleet(t, s, s.Addr)
		f.db.remove = remove
		f.Run(t, func() { time.Sleep(2 * maxLag) })
		f.Verdict(t)
	})
	t.Run("they change keys themselves", func(t *testing.T) {
		s := server(t)
		f, _ := newGoZeroFleet(t, s, s.Addr)
		f.Run(t, func() { time.Sleep(2 * maxLag) })
		f.Verdict(t)
	})
	t.Run("the watch breaks", func(t *testing.T) {
		s := server(t)
		l := newResp(t, s.Addr, func() bool { return false })
		f, remove := newGoZeroFleet(t, s, l.addr)
		f.db.remove = remove
		f.Run(t, func() {
			for range 3 * *rounds {
				time.Sleep(2 * maxLag)
				l.cutWatches()
			}
		})
		f.Verdict(t)
	})
}

// Catches: an oracle that finds nothing when 85 % of the changes are lost on their way to
// instances of go-zero.
func TestOracleSeesChangesLostByGoZero(t *testing.T) {
	s := server(t)
	var dropped atomic.Int64
	l := newResp(t, s.Addr, func() bool {
		if rand.N(100) < 85 {
			dropped.Add(1)
			return true
		}
		return false
	})
	f, remove := newGoZeroFleet(t, s, l.addr)
	f.db.remove = remove
	f.Run(t, func() { awaitStale(f) })
	t.Log(f)
	if f.Stale() == 0 || dropped.Load() == 0 {
		t.Errorf("%d messages were dropped, and the oracle finds %d stale answers", dropped.Load(), f.Stale())
	}
}
