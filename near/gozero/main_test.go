package gozero_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"
	gozeroredis "github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/core/syncx"
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestMain looks for goroutines left behind. go-zero leaves one for each count of a cache,
// and those that importing it starts.
func TestMain(m *testing.M) {
	logx.Disable()
	redistest.VerifyTestMain(m, goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/stores/cache.NewStat.func1"))
}

var errNotFound = errors.New("no such row")

const (
	maxLag = 300 * time.Millisecond
	ttl    = time.Minute
)

// A row is what models have.
type row struct {
	ID   int64
	Name string
	Note string `json:"-"` // not in Redis
}

// nodes are settings of go-zero's.
func nodes(addrs ...string) (all cache.CacheConf) {
	for _, addr := range addrs {
		all = append(all, cache.NodeConf{RedisConf: gozeroredis.RedisConf{Host: addr, Type: gozeroredis.NodeType, PingTimeout: 5 * time.Second}, Weight: 100})
	}
	return all
}

// newNear returns a cache that is closed after the test, and serves.
func newNear(t testing.TB, c gozero.Conf, nodes cache.CacheConf, opts ...cache.Option) *gozero.Cache {
	t.Helper()
	c.MaxLag = maxLag
	made := newIdle(t, c, nodes, errNotFound, opts...)
	awaitServing(t, made)
	return made
}

// newIdle returns a cache that is closed after the test, and perhaps does not serve yet.
func newIdle(t testing.TB, c gozero.Conf, nodes cache.CacheConf, notFound error, opts ...cache.Option) *gozero.Cache {
	t.Helper()
	c.Name = t.Name()
	made, err := gozero.New(c, nodes, notFound, opts...)
	check(t, err)
	t.Cleanup(func() { check(t, made.Close(context.Background())) })
	return made
}

// awaitServing waits until c keeps a value that Redis has. go-zero's breaker may be open.
func awaitServing(t testing.TB, c *gozero.Cache) {
	t.Helper()
	const key = "cache:awaitServing"
	await(t, "a hit", func() bool {
		var v int
		before := hits(t)
		return c.Set(key, 1) == nil && c.Take(&v, key, nil) == nil && c.Take(&v, key, nil) == nil && hits(t) > before
	})
	check(t, c.Del(key))
}

// hits returns how many gets were answered from memory, of all caches of the test.
func hits(t testing.TB) (n uint64) {
	for _, c := range stats.Caches() {
		if strings.HasPrefix(c.Name, t.Name()) {
			n += c.Snapshot.Hits
		}
	}
	return n
}

// plain returns a cache of go-zero's alone, as an instance without a near cache has it.
func plain(nodes cache.CacheConf, opts ...cache.Option) cache.Cache {
	return cache.New(nodes, syncx.NewSingleFlight(), cache.NewStat("plain"), errNotFound, opts...)
}

// await waits until is holds. It asks less and less often: go-zero's breaker lets the fewer
// requests pass, the more there were in ten seconds, and with a newer go-redis a request
// that has to dial must pass it twice.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	pause, end := 5*time.Millisecond, time.Now().Add(time.Minute)
	for ; !is(); pause = min(2*pause, time.Second) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain", what)
		}
		time.Sleep(pause)
	}
}

var (
	server = redistest.Serve
	do     = redistest.Do
	check  = settle.Must // ends a test with an error that it did not expect
)
