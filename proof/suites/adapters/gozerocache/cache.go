// Package cache has the names of go-zero's core/stores/cache that its tests use, on top of
// package near/gozero.
package cache

import (
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/mathx"
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

// New returns a near cache in front of nodes. It makes a barrier and a Stat of its own.
func New(nodes ClusterConf, _ syncx.SingleFlight, _ *Stat, errNotFound error, opts ...Option) Cache {
	c := gozero.Conf{Name: fmt.Sprint("near", made.Add(1)), MaxLag: 30 * time.Millisecond, Prefixes: []string{""}}
	near := gozero.MustNew(c, nodes, errNotFound, opts...)
	awaitServing(near)
	return near
}

var made atomic.Int64

// awaitServing waits until a cache has its memory, if it can write to Redis: without, the
// tests would pass by go-zero alone.
func awaitServing(c *gozero.Cache) {
	const key = "awaitServing" // which no test knows
	for c.Set(key, 1) == nil && c.Stats().Hits == 0 {
		for range 3 {
			var v int
			_ = c.Get(key, &v) // if it fails there is no hit
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

// A cacheNode has the fields of go-zero's, of which tests make some.
type cacheNode struct {
	rds            *redis.Redis
	barrier        syncx.SingleFlight
	r              *rand.Rand     //lint:ignore U1000 the tests set it
	lock           *sync.Mutex    //lint:ignore U1000 the tests set it
	unstableExpiry mathx.Unstable //lint:ignore U1000 the tests set it
	stat           *Stat
	errNotFound    error
}

var (
	nodesLock sync.Mutex
	nodes     = map[*redis.Redis]Cache{} // of cacheNodes
)

// near returns the cache that the methods of a cacheNode are of, always the same.
func (c cacheNode) near() Cache {
	nodesLock.Lock()
	defer nodesLock.Unlock()
	if nodes[c.rds] == nil {
		nodes[c.rds] = NewNode(c.rds, c.barrier, c.stat, c.errNotFound)
	}
	return nodes[c.rds]
}

func (c cacheNode) Del(keys ...string) error                        { return c.near().Del(keys...) }
func (c cacheNode) Get(key string, v any) error                     { return c.near().Get(key, v) }
func (c cacheNode) Set(key string, v any) error                     { return c.near().Set(key, v) }
func (c cacheNode) IsNotFound(err error) bool                       { return c.near().IsNotFound(err) }
func (c cacheNode) Take(v any, key string, q func(any) error) error { return c.near().Take(v, key, q) }

func (c cacheNode) SetWithExpire(key string, v any, expire time.Duration) error {
	return c.near().SetWithExpire(key, v, expire)
}

func (c cacheNode) TakeWithExpire(v any, key string, query func(v any, expire time.Duration) error) error {
	return c.near().TakeWithExpire(v, key, query)
}

// What follows is of go-zero's inside. The tests change it, and expect nothing of that.

//lint:ignore U1000 the tests use it
const expiryDeviation, timingWheelSlots = 0.05, 300

// errPlaceholder is what the tests of several nodes take for "not found".
//
//lint:ignore U1000 the tests use it
var errPlaceholder = errors.New("placeholder")

//lint:ignore U1000 the tests use it
var timingWheel atomic.Value

func clean(_, _ any) {}

func init() {
	tw, err := collection.NewTimingWheel(time.Second, timingWheelSlots, clean)
	if err != nil {
		panic(err)
	}
	timingWheel.Store(tw)
}
