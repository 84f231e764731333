package gozero

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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

// newRing connects to the nodes. If a NonBlock node cannot be reached, Watch connects to it
// later.
func newRing(c Conf, nodes cache.CacheConf) (*ring, error) {
	encryption, err := c.tlsConfig(nodes)
	if err != nil {
		return nil, err
	}
	r := &ring{name: c.Name, prefixes: c.prefixes(), dispatcher: hash.NewConsistentHash()}
	for _, conf := range nodes {
		n := &node{addr: conf.Host, options: c.redisOptions(conf, encryption)}
		r.nodes = append(r.nodes, n)
		r.dispatcher.AddWithWeight(n, conf.Weight)
		err := n.connect(context.Background())
		if err != nil && !(conf.NonBlock && unreachable(err)) {
			r.close()
			return nil, err
		}
		if err != nil {
			logx.Errorf("cache(%s) - nothing is served from memory until Redis can be watched: %v", c.Name, err)
		}
	}
	return r, nil
}

// unreachable reports whether an error is one of the network, which may be temporary, and not
// also a certificate that is refused: go-zero would accept that, and send the password.
func unreachable(err error) bool {
	var of net.Error
	var refused *tls.CertificateVerificationError
	return errors.As(err, &of) && !errors.As(err, &refused)
}

// node returns the node on which go-zero keeps a key.
func (r *ring) node(key string) *node {
	if len(r.nodes) == 1 { // go-zero then ignores the weight
		return r.nodes[0]
	}
	n, _ := r.dispatcher.Get(key)
	return n.(*node)
}

// Covers reports whether a key has one of the prefixes.
func (r *ring) Covers(key string) bool {
	for _, prefix := range r.prefixes {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// Watch tells w of changes on all nodes until ctx ends.
func (r *ring) Watch(ctx context.Context, w near.Watcher) {
	m := &merged{to: w, open: make([]bool, len(r.nodes)), asOf: make([]time.Time, len(r.nodes))}
	m.onLost = func(err error) {
		if ctx.Err() == nil {
			logx.Errorf("cache(%s) - nothing is served from memory until Redis is watched again: %v", r.name, err)
		}
	}
	var all sync.WaitGroup
	for i, n := range r.nodes {
		all.Go(func() { n.watch(ctx, member{m, i}) })
	}
	all.Wait()
}

func (r *ring) close() {
	for _, n := range r.nodes {
		if client := n.client.Load(); client != nil {
			client.Close()
		}
	}
}

// A node is a server or a cluster on which go-zero keeps keys.
type node struct {
	addr    string
	options redis.Options
	client  atomic.Pointer[redis.Redis] // nil until the first connection
}

// String returns the name by which go-zero's consistent hash knows the node.
func (n *node) String() string { return n.addr }

func (n *node) connect(ctx context.Context) error {
	client, err := redis.New(ctx, n.options)
	if err == nil {
		n.client.Store(client)
	}
	return err
}

var errUnconnected = errors.New("near/gozero: the server was never reached")

// get reads a key.
func (n *node) get(ctx context.Context, key string) (near.Item, error) {
	client := n.client.Load()
	if client == nil {
		return near.Item{}, errUnconnected
	}
	items, err := client.Get(ctx, key)
	if err != nil {
		return near.Item{}, err
	}
	return items[0], nil
}

// redial is the time between attempts to reach a server that could not be reached at the start.
const redial = time.Second

// watch connects to the node, if that has failed so far, and watches it until ctx ends.
func (n *node) watch(ctx context.Context, w near.Watcher) {
	for n.client.Load() == nil {
		if err := n.connect(ctx); err != nil {
			w.Lost(err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(redial):
			}
		}
	}
	n.client.Load().Watch(ctx, w)
}
