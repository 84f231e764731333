package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// faults are the values of -fault.
var faults = []string{"none", "kill", "stall", "cut", "failover", "psql"}

// A backend is the servers of the fleet: those that it has started, or those of -redis and -postgres.
type backend struct {
	redis    rueidis.ClientOption // without an address: there is none
	postgres *pgxpool.Config      // nil: there is none
	table    string               // of PostgreSQL
	started  bool                 // PostgreSQL was, and ends with the fleet
	server   interface {          // for kill
		Kill()
		Restart() error
	}
	failover *redistest.Failover // for failover
	promoted atomic.Bool
	undo     []func()
}

func newBackend(c config) (b *backend, err error) {
	b = &backend{}
	if c.truth != "redis" {
		err = b.addPostgres(c)
	}
	if c.truth != "postgres" && err == nil {
		err = b.addRedis(c)
	}
	if err != nil {
		b.stop()
	}
	return b, err
}

func (b *backend) addRedis(c config) error {
	var err error
	switch {
	case c.redis != "":
		b.redis.InitAddress = []string{c.redis}
	case c.fault == "failover":
		if b.failover, err = redistest.StartFailover(3); err == nil {
			b.undo = append(b.undo, b.failover.Stop)
			b.redis.InitAddress = b.failover.Addrs()
			b.redis.Sentinel.MasterSet = redistest.MasterName
		}
	default:
		var s *redistest.Server
		if s, err = redistest.Start(); err == nil {
			b.server, b.undo = s, append(b.undo, s.Stop)
			b.redis.InitAddress = []string{s.Addr}
		}
	}
	if errors.Is(err, redistest.ErrNoServer) {
		err = fmt.Errorf("%w, or give -redis the address of one that runs", err)
	}
	return err
}

func (b *backend) addPostgres(c config) (err error) {
	url := c.postgres
	if url == "" {
		s, err := postgrestest.Start()
		if errors.Is(err, postgrestest.ErrNoServer) {
			err = fmt.Errorf("%w, or give -postgres the URL of one that runs", err)
		}
		if err != nil {
			return err
		}
		b.server, b.started, b.undo = s, true, append(b.undo, s.Stop)
		url = s.URL
	}
	b.table = "pinwheel_fleet_" + strings.ToLower(rand.Text()[:8])
	if b.postgres, err = pgxpool.ParseConfig(url); err != nil {
		return fmt.Errorf("-postgres: %w", err)
	}
	if strings.HasPrefix(b.postgres.ConnConfig.Host, "/") && (c.fault == "stall" || c.fault == "cut") {
		return fmt.Errorf("-postgres %s: want a host and a port, as -fault %s breaks the network", b.postgres.ConnConfig.Host, c.fault)
	}
	return nil
}

// addr is that of Redis, or that of PostgreSQL if there is no Redis.
func (b *backend) addr() string {
	if len(b.redis.InitAddress) > 0 {
		return b.redis.InitAddress[0]
	}
	c := b.postgres.ConnConfig
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

func (b *backend) stop() {
	for _, undo := range slices.Backward(b.undo) {
		undo()
	}
}

// kill ends a server, and starts it again later.
func (b *backend) kill(ctx context.Context, during time.Duration) error {
	b.server.Kill()
	sleep(ctx, during)
	return b.server.Restart()
}

// sync returns when a later failover can no longer lose the writes so far.
func (b *backend) sync() error {
	if b.failover == nil || b.promoted.Load() {
		return nil
	}
	return b.failover.Sync()
}
