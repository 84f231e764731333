package gozero

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeromicro/go-zero/core/hash"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// A ring has the nodes among which go-zero divides the keys, and is the source of the changes
// of all of them.
type ring struct {
	name       string
	prefixes   []string
	nodes      []*node
	dispatcher *hash.ConsistentHash
}

var (
	_ near.Coverer       = (*ring)(nil)
	_ near.PartialSource = (*ring)(nil)
)

// newRing connects to the nodes. If a NonBlock node cannot be reached, Watch connects to it
// later.
func newRing(c Conf, nodes cache.CacheConf) (*ring, error) {
	encryption, err := c.tlsConfig(nodes)
	if err != nil {
		return nil, err
	}
	r := &ring{name: c.Name, prefixes: c.prefixes(), dispatcher: hash.NewConsistentHash()}
	for _, conf := range nodes {
		options := c.redisOptions(conf, encryption)
		options.ConnectLater = conf.NonBlock
		client, err := redis.New(context.Background(), options)
		if err != nil {
			r.close()
			return nil, err
		}
		n := &node{addr: conf.Host, client: client}
		r.nodes = append(r.nodes, n)
		r.dispatcher.AddWithWeight(n, conf.Weight)
	}
	return r, nil
}

// node returns the node on which go-zero keeps a key.
func (r *ring) node(key string) *node {
	if len(r.nodes) == 1 { // go-zero then ignores the weight
		return r.nodes[0]
	}
	n, _ := r.dispatcher.Get(key)
	return n.(*node)
}

// Covers reports whether a key has one of the prefixes, and its node vouches.
func (r *ring) Covers(key string) bool {
	prefixed := slices.ContainsFunc(r.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	return prefixed && r.node(key).covered.Load()
}

// Partial reports whether a Redis tells of some changes late or not at all.
func (r *ring) Partial() bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool { return n.client.Partial() })
}

// Watch tells w of changes on all nodes until ctx ends.
func (r *ring) Watch(ctx context.Context, w near.Watcher) {
	m := &merged{to: w}
	m.onLost = func(err error) {
		if ctx.Err() == nil {
			logx.Errorf("cache(%s) - no key of a Redis is kept in memory until it is watched again: %v", r.name, err)
		}
	}
	for _, n := range r.nodes {
		m.parts = append(m.parts, part{covered: &n.covered, has: func(key string) bool { return r.node(key) == n }})
	}
	var all sync.WaitGroup
	for i, n := range r.nodes {
		all.Go(func() { n.client.Watch(ctx, member{m, i}) })
	}
	all.Wait()
}

// delPrefix removes keys from all nodes at once.
func (r *ring) delPrefix(ctx context.Context, prefix string) (removed int, err error) {
	var all sync.WaitGroup
	var sum atomic.Int64
	errs := make([]error, len(r.nodes))
	for i, n := range r.nodes {
		all.Go(func() {
			var one int
			one, errs[i] = n.client.DelPrefix(ctx, prefix)
			sum.Add(int64(one))
		})
	}
	all.Wait()
	return int(sum.Load()), errors.Join(errs...)
}

func (r *ring) close() {
	for _, n := range r.nodes {
		n.client.Close()
	}
}

// A node is a server or a cluster on which go-zero keeps keys.
type node struct {
	addr    string
	client  *redis.Redis
	covered atomic.Bool // it vouches: see part
}

// String returns the name by which go-zero's consistent hash knows the node.
func (n *node) String() string { return n.addr }

// get reads a key.
func (n *node) get(ctx context.Context, key string) (near.Item, error) {
	items, err := n.client.Get(ctx, key)
	if err != nil {
		return near.Item{}, err
	}
	return items[0], nil
}
