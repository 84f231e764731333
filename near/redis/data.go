package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// A data is the client that reads and writes values, for one topology. It is replaced at
// the beginning of a session, before the watcher is told ChangedAll: so no value that is kept
// afterwards was read from a server that is no longer watched. Calls that use the old client
// may finish.
type data struct {
	rueidis.Client
	conns   conns
	cluster *cluster // nil if it is none
	users   int      // guarded by Redis.mu
	retired bool
}

// Close ends the client and all its connections.
func (d *data) Close() {
	d.Client.Close()
	d.conns.close()
}

// conns are the open connections that a client has dialed. A client of a cluster that is closed while
// it dials forgets some of them (rueidis 1.0.79), and then they stay for ever.
type conns struct {
	mu     sync.Mutex
	all    map[*watchedConn]struct{}
	closed bool
}

// own adds a connection until it is closed, or closes it if the client has ended.
func (c *conns) own(conn net.Conn) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
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
	defer c.mu.Unlock()
	c.closed = true
	for owned := range c.all {
		owned.Conn.Close()
	}
	clear(c.all)
}

// connect makes the client for a topology, which all later calls use.
func (r *Redis) connect(t topology) error {
	o, next := r.options.Client, &data{cluster: t.cluster}
	dial := r.dialIdentified(t.cluster != nil)
	o.DialCtxFn, o.DialFn = func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, d, c)
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
	if !r.replace(next) {
		next.Close()
		return errClosed
	}
	return nil
}

// dialIdentified returns the function that dials for the client: it asks each server who it is,
// and the sessions that do not watch it end. The connection can be used nevertheless: what is
// read by it may be kept for as long as was vouched for before, and that is MaxLag at most.
func (r *Redis) dialIdentified(cluster bool) dialFunc {
	dial := dialer(r.options.Client)
	return func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, d, t)
		if err != nil {
			return nil, err
		}
		info, err := r.identify(ctx, conn)
		switch {
		case errors.Is(err, errNoInfo) && r.options.Channel != "": // it is there for odd servers
			return conn, nil
		case err != nil:
			conn.Close()
			return nil, fmt.Errorf("near/redis: %s: %w", addr, err)
		}
		server, err := role(info)
		if err == nil || !cluster { // a replica in a cluster refuses to read
			r.dialed(addr, server, err)
		}
		return conn, nil
	}
}

// errNoInfo means that a server has answered, but does not say who it is.
var errNoInfo = errors.New("INFO replication was refused")

// identify sends INFO replication on a new connection and returns what it says. It reads the
// replies to the end, and as nothing else was sent, nothing that follows.
func (r *Redis) identify(ctx context.Context, conn net.Conn) (info string, err error) {
	o := r.options.Client
	login := rueidis.AuthCredentials{Username: o.Username, Password: o.Password}
	if o.AuthCredentialsFn != nil {
		if login, err = o.AuthCredentialsFn(rueidis.AuthCredentialsContext{Address: conn.RemoteAddr()}); err != nil {
			return "", err
		}
	}
	commands := [][]string{{"INFO", "replication"}}
	if login.Username != "" {
		commands = [][]string{{"AUTH", login.Username, login.Password}, commands[0]}
	} else if login.Password != "" {
		commands = [][]string{{"AUTH", login.Password}, commands[0]}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Dialer.Timeout)
	defer cancel()
	defer conn.SetDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	for _, c := range commands {
		if _, err := io.WriteString(conn, request(c)); err != nil {
			return "", err
		}
	}
	in, line := bufio.NewReader(conn), ""
	for range commands { // if AUTH is refused, so is INFO
		if line, err = in.ReadString('\n'); err != nil {
			return "", err
		}
	}
	size, ok := strings.CutPrefix(line, "$")
	if !ok {
		return "", fmt.Errorf("%w: %.200s", errNoInfo, line)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(size), 10, 20)
	if err != nil {
		return "", err
	}
	text := make([]byte, n+2)
	_, err = io.ReadFull(in, text)
	return string(text), err
}

// replace makes d the client in use; nil means none. It returns false after Close.
func (r *Redis) replace(d *data) bool {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return false
	}
	old := r.data
	r.data, r.closed = d, d == nil
	idle := old != nil && old.users == 0
	if old != nil {
		old.retired = true
	}
	r.mu.Unlock()
	if idle {
		old.Close()
	}
	return true
}

// use returns the client in use; done must follow.
func (r *Redis) use() (*data, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errClosed
	case r.data == nil && r.why != nil:
		return nil, fmt.Errorf("%w: %w", errUnconnected, r.why)
	case r.data == nil:
		return nil, errUnconnected
	}
	r.data.users++
	return r.data, nil
}

func (r *Redis) done(d *data) {
	r.mu.Lock()
	d.users--
	last := d.retired && d.users == 0
	r.mu.Unlock()
	if last {
		d.Close()
	}
}
