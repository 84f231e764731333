package gozero

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/syncx"

	pinwheel "github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

var _ cache.Cache = (*Cache)(nil)

// A Cache is a cache.Cache of go-zero that keeps the most requested values in memory. Make
// one with [New] for all models of a process. Its methods are safe for concurrent use.
type Cache struct {
	inner    cache.Cache // go-zero's own
	local    *near.Local[string, []byte]
	ring     *ring
	stat     *cache.Stat
	notFound error
	expire   time.Duration
	maxLag   time.Duration
	counts   counts
}

// New connects to the nodes of a go-zero cache and returns that cache with memory in front.
// The nodes, notFound and opts are those of go-zero's cache.New; notFound is
// sqlc.ErrNotFound for models of sqlc, and monc.ErrNotFound for those of monc.
//
// An error says what is wrong with the settings, that a server cannot tell of its changes
// (redis.ErrNoTracking of near/redis), or that it cannot be reached. A server that cannot be
// reached is no error if its node is NonBlock, the default in YAML: until it is reached, the
// cache works without memory.
func New(c Conf, nodes cache.CacheConf, notFound error, opts ...cache.Option) (*Cache, error) {
	made, err := newCache(c, nodes, notFound, opts)
	if err != nil {
		return nil, fmt.Errorf("near/gozero: cache %q: %w", c.Name, err)
	}
	return made, nil
}

// MustNew is [New] for the start of a service. On an error it logs the error and ends the
// process, as go-zero's own Must functions do.
func MustNew(c Conf, nodes cache.CacheConf, notFound error, opts ...cache.Option) *Cache {
	made, err := New(c, nodes, notFound, opts...)
	logx.Must(err)
	return made
}

// Format prints, for every verb of package fmt, the name of the cache, without the settings of
// go-zero's cache, which have passwords.
func (c *Cache) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "&gozero.Cache{%s}", c.ring.name) }

func newCache(c Conf, nodes cache.CacheConf, notFound error, opts []cache.Option) (*Cache, error) {
	if notFound == nil {
		return nil, fmt.Errorf("%w: notFound is nil: want the error of a query that finds nothing, such as sqlc.ErrNotFound", pinwheel.ErrArgument)
	}
	if err := checkNodes(nodes); err != nil {
		return nil, err
	}
	ring, err := newRing(c, nodes)
	if err != nil {
		return nil, err
	}
	made := &Cache{ring: ring, notFound: notFound, expire: c.Expire, maxLag: cmp.Or(c.MaxLag, time.Second)}
	if made.local, err = newLocal(c, ring, made.counts.addTo); err != nil {
		ring.close()
		return nil, err
	}
	made.stat = cache.NewStat(c.Name)
	made.inner = cache.New(nodes, syncx.NewSingleFlight(), made.stat, notFound, opts...)
	return made, nil
}

func newLocal(c Conf, source near.Source, amend func(*stats.Snapshot)) (*near.Local[string, []byte], error) {
	o := pinwheel.Options[string, []byte]{
		Name: c.Name, Limit: c.Limit, MaxWeight: c.MaxBytes, Expire: c.Expire, Jitter: jitter,
	}
	if c.MaxBytes > 0 {
		o.Weigh = func(key string, data []byte) uint32 { return uint32(len(key) + len(data)) }
	}
	return near.NewLocal(source, near.LocalOptions[string, []byte]{
		Cache: o, Amend: amend, MaxLag: c.MaxLag, Logger: slog.New(slog.DiscardHandler), // the ring logs, by logx
	})
}

// Close empties the memory and ends the connections on which Redis tells of its changes. It
// waits for queries under way; if ctx ends first, it returns the cause of ctx. A closed cache
// works as go-zero's own.
func (c *Cache) Close(ctx context.Context) error {
	defer c.ring.close()
	return c.local.Close(ctx)
}
