package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// A data is the client that reads and writes values, for one topology. It is replaced at
// the beginning of a session, before the watcher is told ChangedAll: so no value that is kept
// afterwards was read from a server that is no longer watched. Calls that use the old client
// may finish.
type data struct {
	rueidis.Client
	from    *watched
	cluster bool
	users   int // guarded by Redis.mu
	retired bool
}

// connect makes the client for a topology, which all later calls use. It connects to watched
// servers only.
func (r *Redis) connect(ctx context.Context, t topology, w *watched) error {
	o := r.options.Client
	o.InitAddress, o.Sentinel = t.masters, rueidis.SentinelOption{}
	o.ForceSingleClient = !t.cluster
	dial, connecting := w.dial(o), ctx // of the first connections
	var connected atomic.Bool
	o.DialCtxFn, o.DialFn = func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if !connected.Load() {
			var cancel context.CancelCauseFunc
			ctx, cancel = context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(connecting, func() { cancel(context.Cause(connecting)) })()
		}
		return dial(ctx, addr, d, t)
	}, nil
	client, err := rueidis.NewClient(o)
	connected.Store(true)
	if err != nil {
		if client != nil {
			client.Close()
		}
		return fmt.Errorf("near/redis: connecting to %v: %w", t.masters, err)
	}
	if !r.replace(&data{Client: client, from: w, cluster: t.cluster}) {
		client.Close()
		return errClosed
	}
	return nil
}

// replace makes d the client in use; nil means none. It returns false after Close. Sessions
// that watch other servers than d reads end: they share the client.
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
	for w := range r.sessions {
		if d != nil && !w.same(d.from) {
			w.end(errOthers)
		}
	}
	r.mu.Unlock()
	if idle {
		old.Close()
	}
	return true
}

var errOthers = errors.New("near/redis: another watch of this client has found other servers")

// begin makes w a session, until it is removed by the function returned. Until the watcher is
// told, and from then on, the client in use reads from the servers of w.
func (r *Redis) begin(ctx context.Context, t topology, w *watched) (end func(), err error) {
	r.mu.Lock()
	if r.sessions == nil {
		r.sessions = map[*watched]bool{}
	}
	r.sessions[w] = true
	r.mu.Unlock()
	end = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.sessions, w)
	}
	if err := r.connect(ctx, t, w); err != nil {
		end()
		return nil, err
	}
	if t.sentinel != nil {
		r.master.name(t.asked)
		t.sentinel.answered = r.master.name
	}
	return end, nil
}

// use returns the client in use; done must follow.
func (r *Redis) use() (*data, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errClosed
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

// inTime calls f with the client in use. It returns when ctx ends, even if f still waits for a dial,
// which may be that of another caller; then f sends nothing any more.
func inTime[T any](ctx context.Context, r *Redis, f func(d *data) (T, error)) (value T, err error) {
	if err := r.master.wait(ctx); err != nil {
		return value, err
	}
	d, err := r.use()
	if err != nil {
		return value, err
	}
	if ctx.Done() == nil {
		defer r.done(d)
		return f(d)
	}
	type result struct {
		value T
		err   error
	}
	ended := make(chan result, 1)
	go func() {
		defer r.done(d)
		value, err := f(d)
		ended <- result{value, err}
	}()
	select {
	case got := <-ended:
		return got.value, got.err
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
}
