package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// A node is one server and the single connection to it. When that breaks, the node is
// useless: it never dials again, as a second connection would have missed changes.
type node struct {
	addr   string
	run    string // the run id of the server; "" if it was not asked, or has none
	client rueidis.Client
	broken chan struct{} // closed when the connection is closed
	conn   atomic.Pointer[closingConn]
}

// A purpose says what a node is for.
type purpose struct {
	identify bool     // ask the server for its run id
	selectDB bool     // use the database of the options, else 0
	prefixes []string // of the keys to track, if onPush is set

	// onPush gets the keys that Redis pushes, or nil for all keys. It runs in the goroutine
	// that reads replies, so it must not wait.
	onPush func(keys []rueidis.RedisMessage)
}

// dialNode connects to one server.
func dialNode(ctx context.Context, o rueidis.ClientOption, addr string, p purpose) (*node, error) {
	n := &node{addr: addr, broken: make(chan struct{})}
	o.InitAddress, o.ForceSingleClient, o.PipelineMultiplex = []string{addr}, true, -1
	o.Sentinel, o.Standalone = rueidis.SentinelOption{}, rueidis.StandaloneOption{}
	o.ConnLifetime, o.AlwaysPipelining = 0, true
	if !p.selectDB {
		o.SelectDB = 0
	}
	o.RingScaleEachConn, o.ReadBufferEachConn, o.WriteBufferEachConn = 6, 1<<16, 1<<12
	if p.onPush != nil {
		o.DisableCache = false
		o.ClientTrackingOptions = trackingOptions(p.prefixes)
		o.OnInvalidations = func(keys []rueidis.RedisMessage) {
			if !n.isBroken() { // else this is the end of the connection
				p.onPush(keys)
			}
		}
	}
	dial := dialer(o)
	if p.identify {
		dial = n.identified(o, dial)
	}
	o.DialCtxFn, o.DialFn = n.dialOnce(ctx, dial), nil
	defer context.AfterFunc(ctx, n.hangUp)() // rueidis waits for replies without ctx
	var err error
	if n.client, err = rueidis.NewClient(o); err != nil {
		if n.client != nil {
			n.client.Close()
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

// identified returns a dial that finds out the run id.
func (n *node) identified(o rueidis.ClientOption, dial dialFunc) dialFunc {
	return func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, d, t)
		if err != nil {
			return nil, err
		}
		if n.run, err = runID(ctx, conn, o); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
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
		watched := &closingConn{Conn: conn, closing: func() { close(n.broken) }}
		n.conn.Store(watched)
		if until.Err() != nil {
			n.hangUp()
		}
		return watched, nil
	}
}

// hangUp closes the connection, if there is one.
func (n *node) hangUp() {
	if conn := n.conn.Load(); conn != nil {
		conn.Close()
	}
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
