package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// A network connects one instance to Redis. It fails without affecting the others.
type network struct {
	mu     sync.Mutex
	silent chan struct{} // while not nil, closed when the silence is over
	down   bool
	conns  map[*conn]bool
}

func newNetwork() *network { return &network{conns: map[*conn]bool{}} }

var errDown = errors.New("the network is down")

// dial is for rueidis.ClientOption.DialCtxFn.
func (n *network) dial(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	n.mu.Lock()
	down, silent := n.down, n.silent
	n.mu.Unlock()
	if down {
		return nil, errDown
	}
	if silent != nil {
		sleep(ctx, d.Timeout)
		return nil, errDown
	}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	wrapped := &conn{Conn: c, network: n, closed: make(chan struct{})}
	n.conns[wrapped] = true
	return wrapped, nil
}

// stall makes all connections silent, in both directions, for a while. Data sent meanwhile is
// lost, and with it the connections.
func (n *network) stall(ctx context.Context, during time.Duration) {
	n.mu.Lock()
	n.silent = make(chan struct{})
	n.mu.Unlock()
	sleep(ctx, during)
	n.mu.Lock()
	close(n.silent)
	n.silent = nil
	n.mu.Unlock()
	n.breakAll()
}

// cut breaks all connections and refuses new ones for a while.
func (n *network) cut(ctx context.Context, during time.Duration) {
	n.setDown(true)
	n.breakAll()
	sleep(ctx, during)
	n.setDown(false)
}

func (n *network) setDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

func (n *network) breakAll() {
	n.mu.Lock()
	conns := n.conns
	n.conns = map[*conn]bool{}
	n.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

// silence returns a channel that is closed when the network is no longer silent, or nil.
func (n *network) silence() chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent
}

// A conn is a connection over a network.
type conn struct {
	net.Conn
	network *network
	once    sync.Once
	closed  chan struct{}
}

// Read holds data that arrives while the network is silent until the silence ends; then the
// connection is broken.
func (c *conn) Read(p []byte) (int, error) {
	count, err := c.Conn.Read(p)
	if silent := c.network.silence(); silent != nil {
		select {
		case <-silent:
		case <-c.closed:
		}
		return 0, net.ErrClosed
	}
	return count, err
}

// Write loses its data while the network is silent, as the buffers of a kernel do.
func (c *conn) Write(p []byte) (int, error) {
	if c.network.silence() != nil {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) { wait(ctx, time.After(d)) }

// wait waits for the moment, or until ctx ends.
func wait(ctx context.Context, moment <-chan time.Time) {
	select {
	case <-ctx.Done():
	case <-moment:
	}
}
