package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
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
type fills [neartest.Keys]sync.RWMutex

// A decorated is a go-zero cache with a near cache in front.
type decorated struct {
	*gozero.Cache
	fills *fills
}

func (d decorated) Take(ctx context.Context, key int, fetch func(context.Context) (int, error)) (got int, err error) {
	filling := false
	err = d.TakeCtx(ctx, &got, keyOf(key), func(v any) (err error) {
		d.fills[key].RLock()
		filling = true
		*v.(*int), err = fetch(ctx)
		return err
	})
	if filling {
		d.fills[key].RUnlock()
	}
	return got, err
}

func (d decorated) Del(ctx context.Context, keys ...int) error {
	d.fills[keys[0]].Lock()
	defer d.fills[keys[0]].Unlock()
	return d.DelCtx(ctx, keyOf(keys[0]))
}

// newGoZeroFleet returns a fleet that reaches Redis at addr, and a del by an instance of go-zero
// without a near cache, at s.
func newGoZeroFleet(t *testing.T, s *redistest.Server, addr string) (*fleet, neartest.Removal) {
	t.Helper()
	logx.Disable()
	nodes := func(addr string) cache.CacheConf {
		return cache.CacheConf{{RedisConf: gozeroredis.RedisConf{Host: addr, Type: gozeroredis.NodeType, PingTimeout: 10 * time.Second}, Weight: 100}}
	}
	f, filling := &fleet{}, new(fills)
	for i := range instances {
		c, err := gozero.New(gozero.Conf{Name: fmt.Sprint(t.Name(), i), MaxLag: maxLag, Prefixes: []string{prefix}}, nodes(addr), errNoRow)
		check(t, err)
		t.Cleanup(func() { check(t, c.Close(context.Background())) })
		f.add(decorated{c, filling}, time.Minute, time.Minute, time.Minute)
	}
	plain := cache.New(nodes(s.Addr), syncx.NewSingleFlight(), cache.NewStat("plain"), errNoRow)
	return f, func(ctx context.Context, _, key int) error {
		filling[key].Lock()
		defer filling[key].Unlock()
		if rand.N(2) == 0 {
			return plain.DelCtx(ctx, keyOf(key))
		}
		return plain.SetCtx(ctx, keyOf(key), f.Oracle.Newest(key)) // each key has one writer
	}
}

// TestMixedGoZeroFleet lets instances of go-zero without a near cache change keys, by Del and
// by Set, while others with one read.
func TestMixedGoZeroFleet(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		s := server(t)
		f, change := newGoZeroFleet(t, s, s.Addr)
		f.Run(t, change, func() { time.Sleep(2 * maxLag) })
		f.Verdict(t)
	})
	t.Run("they change keys themselves", func(t *testing.T) {
		s := server(t)
		f, _ := newGoZeroFleet(t, s, s.Addr)
		f.Run(t, nil, func() { time.Sleep(2 * maxLag) })
		f.Verdict(t)
	})
	t.Run("the watch breaks", func(t *testing.T) {
		s := server(t)
		p := newProxy(t, s.Addr)
		f, change := newGoZeroFleet(t, s, p.Addr)
		f.Run(t, change, func() {
			for range 3 * *rounds {
				time.Sleep(2 * maxLag)
				over := p.Begin(cutWatch, neartest.FromServer)
				time.Sleep(maxLag / 10)
				over()
			}
		})
		f.Verdict(t)
	})
}

// cutWatch is a fault that resets the connections which report changes.
func cutWatch(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
	return func(data []byte) error {
		if bytes.Contains(data, []byte("invalidate")) {
			return neartest.ErrCut
		}
		return write(data)
	}
}
