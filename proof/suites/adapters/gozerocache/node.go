package cache

//lint:file-ignore U1000 the tests of the original use these

import (
	"errors"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/mathx"
	"github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/core/syncx"
)

// A cacheNode has the fields of go-zero's, as tests make some.
type cacheNode struct {
	rds            *redis.Redis
	barrier        syncx.SingleFlight
	r              *rand.Rand
	lock           *sync.Mutex
	unstableExpiry mathx.Unstable
	stat           *Stat
	errNotFound    error
}

var (
	nodesLock sync.Mutex
	nodes     = map[*redis.Redis]Cache{} // of cacheNodes
)

// near returns the cache behind a cacheNode, the same for every call.
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

// The tests change these internals of go-zero's, and expect no effect.

const expiryDeviation, timingWheelSlots = 0.05, 300

// errPlaceholder means "not found" in the tests of several nodes.
var errPlaceholder = errors.New("placeholder")

var timingWheel atomic.Value

func clean(_, _ any) {}

func init() {
	tw, err := collection.NewTimingWheel(time.Second, timingWheelSlots, clean)
	if err != nil {
		panic(err)
	}
	timingWheel.Store(tw)
}
