package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/zeromicro/go-zero/core/logx"
	zerocache "github.com/zeromicro/go-zero/core/stores/cache"
	zeroredis "github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/core/syncx"
)

const (
	fleetSize = 3
	callers   = 1000
	queryTime = 20 * time.Millisecond
)

// misses counts the reads of the database when a thousand callers of three instances miss one
// key at the same time.
func misses(out io.Writer, server *redistest.Server, s scale) error {
	logx.Disable()
	rounds := max(1, s.rounds/100)
	var nears, zeros []func(ctx context.Context, id int, fetch func() (*user, error)) error
	for range fleetSize {
		c, stop, err := nearCache(server.Addr)
		if err != nil {
			return err
		}
		defer stop()
		nears = append(nears, func(ctx context.Context, id int, fetch func() (*user, error)) error {
			_, err := c.Take(ctx, id, func(context.Context) (*user, error) { return fetch() })
			return err
		})
		rds, err := zeroredis.NewRedis(zeroredis.RedisConf{Host: server.Addr, Type: zeroredis.NodeType})
		if err != nil {
			return err
		}
		node := zerocache.NewNode(rds, syncx.NewSingleFlight(), zerocache.NewStat("bench"), errors.New("not found"))
		zeros = append(zeros, func(ctx context.Context, id int, fetch func() (*user, error)) error {
			var u user
			return node.TakeCtx(ctx, &u, fmt.Sprintf("zero:%d", id), func(v any) error {
				u, err := fetch()
				if err == nil {
					*v.(*user) = *u
				}
				return err
			})
		})
	}
	fmt.Fprintf(out, "\n| %d callers of %d instances miss one key, %d times | queries, median | most |\n|---|---:|---:|\n", callers, fleetSize, rounds)
	for _, kind := range []struct {
		name  string
		takes []func(context.Context, int, func() (*user, error)) error
	}{{"near", nears}, {"go-zero core/stores/cache", zeros}} {
		var counts []float64
		for id := range rounds {
			n, err := stampede(kind.takes, id)
			if err != nil {
				return fmt.Errorf("%s: %w", kind.name, err)
			}
			counts = append(counts, float64(n))
		}
		fmt.Fprintf(out, "| %s | %.0f | %.0f |\n", kind.name, median(counts), slices.Max(counts))
	}
	return nil
}

func stampede(takes []func(context.Context, int, func() (*user, error)) error, id int) (queries int64, err error) {
	var asked atomic.Int64
	start := make(chan struct{})
	errs := make(chan error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			<-start
			errs <- takes[i%len(takes)](context.Background(), id, func() (*user, error) {
				asked.Add(1)
				time.Sleep(queryTime)
				return newUser(id), nil
			})
		})
	}
	close(start)
	all.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return asked.Load(), err
}
