package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// faults are the values of -fault.
var faults = []string{"none", "kill", "stall", "cut", "failover"}

// A backend is the Redis of the fleet: one that it started, or that of -redis.
type backend struct {
	options  rueidis.ClientOption
	server   *redistest.Server   // for kill
	failover *redistest.Failover // for failover
	promoted atomic.Bool
}

func newBackend(addr, fault string) (*backend, error) {
	if !slices.Contains(faults, fault) {
		return nil, fmt.Errorf("-fault %q: want one of %v", fault, faults)
	}
	b := &backend{}
	var err error
	switch {
	case addr != "" && (fault == "kill" || fault == "failover"):
		return nil, fmt.Errorf("-fault %s ends a Redis: leave -redis out, and one is started for it", fault)
	case addr != "":
		b.options.InitAddress = []string{addr}
	case fault == "failover":
		if b.failover, err = redistest.StartFailover(3); err == nil {
			b.options.InitAddress = b.failover.Addrs()
			b.options.Sentinel.MasterSet = redistest.MasterName
		}
	default:
		if b.server, err = redistest.Start(); err == nil {
			b.options.InitAddress = []string{b.server.Addr}
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
