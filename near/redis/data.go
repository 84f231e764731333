package redis

import (
	"fmt"

	"github.com/redis/rueidis"
)

// A data is the client that reads and writes values, for one topology. It is replaced at
// the beginning of a session, before the watcher is told ChangedAll: so no value that is kept
// afterwards was read from a server that is no longer watched. Calls that use the old client
// may finish.
type data struct {
	rueidis.Client
	users   int // guarded by Redis.mu
	retired bool
}

// connect makes the client for a topology, which all later calls use.
func (r *Redis) connect(t topology) error {
	o := r.options.Client
	o.InitAddress, o.Sentinel = t.masters, rueidis.SentinelOption{}
	o.ForceSingleClient = !t.cluster
	client, err := rueidis.NewClient(o)
	if err != nil {
		if client != nil {
			client.Close()
		}
		return fmt.Errorf("near/redis: connecting to %v: %w", t.masters, err)
	}
	if !r.replace(&data{Client: client}) {
		client.Close()
		return errClosed
	}
	return nil
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
	if r.data == nil {
		return nil, errClosed
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
