package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// A node is one server and the single connection to it. When that breaks, the node is
// useless: it never dials again, as a second connection would have missed changes.
type node struct {
	addr   string
	client rueidis.Client
	broken chan struct{} // closed when the connection is closed, or the one of the ear
	once   sync.Once     // for that
	conn   atomic.Pointer[watchedConn]
}

func (n *node) breaks() { n.once.Do(func() { close(n.broken) }) }

// dialNode connects to one server. If onPush is not nil, the connection tracks prefixes, and
// onPush gets the keys that Redis pushes, or nil for all keys. It runs in the goroutine that
// reads replies, so it must not wait.
func dialNode(ctx context.Context, o rueidis.ClientOption, addr string, prefixes []string, onPush func(keys []rueidis.RedisMessage)) (*node, error) {
	n := &node{addr: addr, broken: make(chan struct{})}
	o.InitAddress, o.ForceSingleClient, o.PipelineMultiplex = []string{addr}, true, -1
	o.Sentinel, o.Standalone = rueidis.SentinelOption{}, rueidis.StandaloneOption{}
	o.SelectDB, o.ConnLifetime, o.AlwaysPipelining = 0, 0, true
	o.RingScaleEachConn, o.ReadBufferEachConn, o.WriteBufferEachConn = 6, 1<<16, 1<<12
	if onPush != nil {
		o.DisableCache = false
		o.ClientTrackingOptions = trackingOptions(prefixes)
		o.OnInvalidations = func(keys []rueidis.RedisMessage) {
			if !n.isBroken() { // else this is the end of the connection
				onPush(keys)
			}
		}
	}
	o.DialCtxFn, o.DialFn = n.dialOnce(ctx, dialer(o)), nil
	var err error
	greeted := context.AfterFunc(ctx, func() {
		if conn := n.conn.Load(); conn != nil {
			conn.Close()
		}
	})
	defer greeted()
	if n.client, err = rueidis.NewClient(o); err != nil {
		if n.client != nil {
			n.client.Close()
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return n, nil
}

func trackingOptions(prefixes []string) []string {
	options := []string{"BCAST"}
	for _, prefix := range prefixes {
		options = append(options, "PREFIX", prefix)
	}
	return options
}

type dialFunc func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// dialer returns the function by which o dials.
func dialer(o rueidis.ClientOption) dialFunc {
	switch {
	case o.DialCtxFn != nil:
		return o.DialCtxFn
	case o.DialFn != nil:
		return func(_ context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
			return o.DialFn(addr, d, t)
		}
	}
	return func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if t != nil {
			return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", addr)
		}
		return d.DialContext(ctx, "tcp", addr)
	}
}

var errDialedBefore = errors.New("the connection is gone")

func (n *node) dialOnce(until context.Context, dial dialFunc) dialFunc {
	var dialed atomic.Bool
	return func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if dialed.Swap(true) {
			return nil, errDialedBefore
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(until, cancel)()
		conn, err := dial(ctx, addr, d, t)
		if err != nil {
			return nil, err
		}
		watched := &watchedConn{conn, n.breaks}
		n.conn.Store(watched)
		if err := context.Cause(until); err != nil {
			watched.Close()
			return nil, err
		}
		return watched, nil
	}
}

// A watchedConn tells when it is closed, which rueidis does as soon as reading or writing fails.
type watchedConn struct {
	net.Conn
	breaks func()
}

func (c *watchedConn) Close() error {
	c.breaks()
	return c.Conn.Close()
}

func (n *node) isBroken() bool {
	select {
	case <-n.broken:
		return true
	default:
		return false
	}
}

func (n *node) close() { n.client.Close() }

// text returns the text that answers a command.
func (n *node) text(ctx context.Context, timeout time.Duration, command ...string) (string, error) {
	replies, err := n.do(ctx, timeout, command)
	if err != nil {
		return "", err
	}
	return replies[0].ToString()
}

// do sends commands in one packet and returns the replies, or the first error.
func (n *node) do(ctx context.Context, timeout time.Duration, commands ...[]string) ([]rueidis.RedisResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer for %v", timeout))
	defer cancel()
	var built rueidis.Commands
	for _, c := range commands {
		built = append(built, n.client.B().Arbitrary(c...).Build())
	}
	replies := n.client.DoMulti(ctx, built...)
	for i, reply := range replies {
		if err := reply.Error(); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, fmt.Errorf("%s: %w", strings.Join(commands[i], " "), err)
		}
	}
	return replies, nil
}
