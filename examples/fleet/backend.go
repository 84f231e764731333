package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// A backend is the Redis of the fleet: one that it started, or that of -redis.
type backend struct {
	options  rueidis.ClientOption
	server   *redistest.Server   // for kill, busy, full and switch
	other    *redistest.Server   // for switch
	failover *redistest.Failover // for failover
	promoted atomic.Bool
}

func newBackend(addr, fault string) (*backend, error) {
	b := &backend{}
	var err error
	switch {
	case addr != "":
		b.options.InitAddress = []string{addr}
	case fault == "failover":
		if b.failover, err = redistest.StartFailover(3); err == nil {
			b.options.InitAddress = b.failover.Addrs()
			b.options.Sentinel.MasterSet = redistest.MasterName
		}
	default:
		if b.server, err = redistest.Start("--busy-reply-threshold", "10"); err == nil {
			b.options.InitAddress = []string{b.server.Addr}
		}
		if err == nil && fault == "switch" {
			b.other, err = redistest.Start()
		}
	}
	if errors.Is(err, redistest.ErrNoServer) {
		err = fmt.Errorf("%w, or give -redis the address of one that runs", err)
	}
	return b, err
}

func (b *backend) stop() {
	if b.server != nil {
		b.server.Stop()
	}
	if b.other != nil {
		b.other.Stop()
	}
	if b.failover != nil {
		b.failover.Stop()
	}
}

// kill ends Redis and later starts an empty one in its place.
func (b *backend) kill(ctx context.Context, during time.Duration) error {
	b.server.Kill()
	sleep(ctx, during)
	return b.server.Restart()
}

// busy has Redis run a script for a while, and refuse all else.
func (b *backend) busy(during time.Duration) error {
	const script = `local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
		local e = now() + ARGV[1] while now() < e do end`
	_, err := b.server.Do("EVAL", script, "0", strconv.FormatInt(during.Milliseconds(), 10))
	return err
}

// full has Redis refuse to write for a while, but not to remove.
func (b *backend) full(ctx context.Context, during time.Duration) error {
	_, err := b.server.Do("CONFIG", "SET", "maxmemory", "1")
	sleep(ctx, during)
	_, err2 := b.server.Do("CONFIG", "SET", "maxmemory", "0")
	return errors.Join(err, err2)
}

// switchTo has new connections of networks lead to the other server, which is empty. The old one
// stays. Nobody writes to the other one before the last connection to the old one has ended: no
// cache can tell instances of one server what others write to another.
func (b *backend) switchTo(networks []*network) error {
	_, err := b.other.Do("FLUSHALL")
	for _, n := range networks {
		n.setDown(true)
	}
	_, err2 := b.server.Do("CLIENT", "KILL", "TYPE", "normal")
	b.server, b.other = b.other, b.server
	for _, n := range networks {
		n.lead(b.server.Addr)
		n.setDown(false)
	}
	return errors.Join(err, err2)
}

// promote ends the master, so that the Sentinels promote the replica.
func (b *backend) promote() {
	b.promoted.Store(true)
	b.failover.Master.Kill()
}

// sync returns when a later failover can no longer lose the writes so far.
func (b *backend) sync() error {
	if b.failover == nil || b.promoted.Load() {
		return nil
	}
	return b.failover.Sync()
}
