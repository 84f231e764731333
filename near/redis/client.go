package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redis/rueidis"
)

// clients has the client that reads and writes values. It is replaced at the beginning of each
// session, before the watcher is told ChangedAll: so no value that is kept afterwards was read
// from a server that is no longer watched. Calls that use the old client may finish.
type clients struct {
	options *Options

	mu     sync.Mutex
	client *client // nil before the first connection, and when closed
	closed bool
	why    error // why the last session has ended or could not begin; nil before
}

// A client is one for the servers of one topology.
type client struct {
	rueidis.Client
	conns   conns
	masters []string
	cluster *cluster // nil if they are none
	users   int      // calls under way; guarded by clients.mu
	retired bool     // another one is in its place
}

// Close ends the client and all its connections.
func (c *client) Close() {
	c.Client.Close()
	c.conns.close()
}

// conns are the open connections that a client has dialed. A client of a cluster that is closed
// while it dials forgets some of them (rueidis 1.0.79), and then they stay for ever.
type conns struct {
	mu     sync.Mutex
	all    map[*watchedConn]struct{}
	closed bool
}

// own adds a connection until it is closed, or closes it if the client has ended.
func (c *conns) own(conn net.Conn) (net.Conn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		conn.Close()
		return nil, net.ErrClosed
	}
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[*watchedConn]struct{}{}
	}
	owned := &watchedConn{Conn: conn}
	owned.breaks = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, owned)
	}
	c.all[owned] = struct{}{}
	return owned, nil
}

func (c *conns) close() {
	c.mu.Lock()
	all := c.all
	c.all, c.closed = nil, true
	c.mu.Unlock()
	for owned := range all {
		owned.Conn.Close()
	}
}

// connect makes the client for a topology, which all later calls use.
func (c *clients) connect(t topology, dialed dialedFunc) error {
	o, next := c.options.Client, &client{masters: t.masters, cluster: t.cluster}
	dial := dialIdentified(c.options, t.cluster != nil, dialed)
	o.DialCtxFn, o.DialFn = func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, d, t)
		if err != nil {
			return nil, err
		}
		return next.conns.own(conn)
	}, nil
	o.InitAddress, o.Sentinel = t.masters, rueidis.SentinelOption{}
	o.ForceSingleClient = t.cluster == nil
	var err error
	if next.Client, err = rueidis.NewClient(o); err != nil {
		if next.Client != nil {
			next.Client.Close()
		}
		next.conns.close()
		return fmt.Errorf("near/redis: connecting to %v: %w", t.masters, err)
	}
	if !c.replace(next) {
		next.Close()
		return errClosed
	}
	return nil
}

// A dialedFunc is told to which server an address leads, or why nobody should read from it.
type dialedFunc func(addr, server string, err error)

// dialIdentified returns the function that dials for a client. It asks each server who it is, and
// tells dialed, which ends the sessions that do not watch that server. The connection can be used
// nevertheless: what is read by it may be kept for as long as was vouched for before, and that is
// MaxLag at most.
func dialIdentified(o *Options, cluster bool, dialed dialedFunc) dialFunc {
	dial := dialer(o.Client)
	return func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, d, t)
		if err != nil {
			return nil, err
		}
		info, err := identify(ctx, &o.Client, conn)
		switch {
		case errors.Is(err, errNoInfo) && o.Channel != "": // Options.Channel is for such servers
			return conn, nil
		case err != nil:
			conn.Close()
			return nil, fmt.Errorf("near/redis: %s: %w", addr, err)
		}
		server, err := role(info)
		if err == nil || !cluster { // a replica in a cluster refuses to read
			dialed(addr, server, err)
		}
		return conn, nil
	}
}

// replace puts a client in the place of the one in use; nil means that none follows. It returns
// false after that.
func (c *clients) replace(next *client) bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	old := c.client
	c.client, c.closed = next, next == nil
	idle := old != nil && old.users == 0
	if old != nil {
		old.retired = true
	}
	c.mu.Unlock()
	if idle {
		old.Close()
	}
	return true
}

// use returns the client in use; done must follow.
func (c *clients) use() (*client, error) {
	c.mu.Lock()
	used, closed, why := c.client, c.closed, c.why
	if used != nil {
		used.users++
	}
	c.mu.Unlock()
	switch {
	case used != nil:
		return used, nil
	case closed:
		return nil, errClosed
	case why != nil:
		return nil, fmt.Errorf("%w: %w", errUnconnected, why)
	}
	return nil, errUnconnected
}

func (c *clients) done(used *client) {
	c.mu.Lock()
	used.users--
	last := used.retired && used.users == 0
	c.mu.Unlock()
	if last {
		used.Close()
	}
}

// ended notes why a session has ended or could not begin, and returns what was noted before.
func (c *clients) ended(why error) (before error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.why = c.why, why
	return before
}

// server returns the number of the server that has a key: in a cluster, of its master.
func (c *clients) server(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil || c.client.cluster == nil {
		return 0
	}
	if i := c.client.cluster.master(c.client.Client, key); i >= 0 {
		return i
	}
	return len(c.client.cluster.masters)
}

// masters returns the masters of the cluster, as far as they are known.
func (c *clients) masters() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil || c.client.cluster == nil {
		return nil
	}
	return c.client.cluster.masters
}
