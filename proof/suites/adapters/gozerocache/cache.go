// Package cache has the names of go-zero's core/stores/cache that its tests use, on top of
// package near/gozero.
package cache

import (
	"fmt"
	"sync/atomic"
	"time"

	theirs "github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/core/syncx"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
)

type (
	Cache       = theirs.Cache
	ClusterConf = theirs.ClusterConf
	Option      = theirs.Option
	Stat        = theirs.Stat
)

var (
	NewStat            = theirs.NewStat
	WithExpiry         = theirs.WithExpiry
	WithNotFoundExpiry = theirs.WithNotFoundExpiry
)

// New returns a near cache in front of nodes, which has a barrier and a Stat of its own.
func New(nodes ClusterConf, _ syncx.SingleFlight, _ *Stat, errNotFound error, opts ...Option) Cache {
	c := gozero.Conf{Name: fmt.Sprint("near", made.Add(1)), MaxLag: 30 * time.Millisecond, Prefixes: []string{""}}
	near := gozero.MustNew(c, nodes, errNotFound, opts...)
	awaitServing(near)
	return near
}

var made atomic.Int64

// awaitServing waits until a cache that can write to Redis serves from memory. Before that,
// go-zero's part alone would pass the tests.
func awaitServing(c *gozero.Cache) {
	const key = "awaitServing" // which no test uses
	for c.Set(key, 1) == nil && c.Stats().Hits == 0 {
		for range 3 {
			var v int
			_ = c.Get(key, &v) // an error is no hit
		}
		time.Sleep(time.Millisecond)
	}
	_ = c.Del(key)
}

// NewNode is New for the server of a client.
func NewNode(rds *redis.Redis, barrier syncx.SingleFlight, st *Stat, errNotFound error, opts ...Option) Cache {
	conf := redis.RedisConf{Host: rds.Addr, Type: rds.Type, NonBlock: true}
	return New(ClusterConf{{RedisConf: conf, Weight: 100}}, barrier, st, errNotFound, opts...)
}
