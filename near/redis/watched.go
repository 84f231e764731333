package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"

	"github.com/redis/rueidis"
)

// A watched has the servers that a session watches, by the run ids of their processes: an
// address may lead to another server at the next dial.
type watched struct {
	runs  map[string]bool
	addrs map[string]bool

	broken chan struct{} // not empty when a connection for reading has ended

	once   sync.Once
	over   chan struct{} // closed when values may be read from other servers
	reason error         // why; set before over is closed
}

// newWatched returns the servers to which members are connected.
func newWatched(members []*member) *watched {
	w := &watched{runs: map[string]bool{}, addrs: map[string]bool{}, broken: make(chan struct{}, 1), over: make(chan struct{})}
	for _, m := range members {
		w.runs[m.run], w.addrs[m.addr] = true, true
	}
	return w
}

// end ends the session. The first reason counts.
func (w *watched) end(reason error) {
	w.once.Do(func() {
		w.reason = reason
		close(w.over)
	})
}

func (w *watched) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// wait returns the reason when the session has to end. After a connection for reading has ended,
// an address may lead to another server, which others may write to; and if all is in memory
// nobody reads, and would find out. So wait dials.
func (w *watched) wait(ctx context.Context, o rueidis.ClientOption) error {
	for {
		select {
		case <-w.over:
			return w.reason
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.broken:
			if err := w.dialAll(ctx, o); err != nil {
				return err
			}
		}
	}
}

// dialAll finds out whether all addresses still lead to the watched servers.
func (w *watched) dialAll(ctx context.Context, o rueidis.ClientOption) error {
	for addr := range w.addrs {
		conn, err := w.dialKnown(ctx, addr, &o.Dialer, o.TLSConfig, o)
		if err != nil {
			return fmt.Errorf("near/redis: %s: %w", addr, err)
		}
		conn.Close()
	}
	return nil
}

// same reports whether two sessions watch the same servers.
func (w *watched) same(other *watched) bool { return maps.Equal(w.runs, other.runs) }

var errStray = errors.New("the address leads to another server than the one that is watched")

// dial returns a function that dials for reading and writing. It connects to watched servers
// only, so nothing is read from another one.
func (w *watched) dial(o rueidis.ClientOption) dialFunc {
	return func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		conn, err := w.dialKnown(ctx, addr, d, t, o)
		if err != nil || !w.addrs[addr] {
			return conn, err
		}
		return &closingConn{Conn: conn, closing: func() {
			select {
			case w.broken <- struct{}{}:
			default:
			}
		}}, nil
	}
}

// dialKnown dials a watched server. Behind an address that is not watched may be a replica, which
// the client of a cluster asks for the slots; that is no reason to end the session.
func (w *watched) dialKnown(ctx context.Context, addr string, d *net.Dialer, t *tls.Config, o rueidis.ClientOption) (net.Conn, error) {
	conn, err := dialer(o)(ctx, addr, d, t)
	if err != nil {
		return nil, err
	}
	run, err := runID(ctx, conn, o)
	if err == nil && !w.runs[run] {
		err = errStray
		if w.addrs[addr] {
			w.end(fmt.Errorf("near/redis: %s: %w", addr, err))
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// A closingConn calls a function when it is closed, which rueidis does as soon as reading or
// writing fails.
type closingConn struct {
	net.Conn
	once    sync.Once
	closing func()
}

func (c *closingConn) Close() error {
	c.once.Do(c.closing)
	return c.Conn.Close()
}
