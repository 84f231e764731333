package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A user is a row of the database. Its version counts its changes.
type user struct {
	ID      int
	Name    string
	Version int
}

// A truth is the database of a fleet, and what keeps the caches of the instances true to it.
type truth interface {
	// join makes an instance.
	join(ctx context.Context, name string) (*service, error)

	// change gives a user a new version, by an instance. It returns when the change is acknowledged.
	change(ctx context.Context, s *service, id int) (version int, err error)

	// readWithoutNear reads a user as a service without caches does.
	readWithoutNear(id int) error

	// harm causes the fault of -fault once. It reports whether it can happen again.
	harm(ctx context.Context, f *fleet, lasts time.Duration) bool

	// stop ends what was started, after the instances have been closed.
	stop() error
}

// A service is one instance.
type service struct {
	network *network
	take    func(ctx context.Context, id int) (user, error)
	stats   func() stats.Snapshot
	close   func() error
	remove  func(ctx context.Context, id int) error                    // removes the copies of a user; over Redis only
	change  func(ctx context.Context, id int) (version int, err error) // over PostgreSQL only
	loads   atomic.Uint64                                              // reads of the database
}

// alsoClose has close first close what was made last.
func (s *service) alsoClose(last func() error) {
	rest := s.close
	s.close = func() error { return errors.Join(last(), rest()) }
}

// faults are the values of -fault, by those of -truth.
var faults = map[string][]string{
	"redis":        {"none", "kill", "stall", "cut", "busy", "full", "switch", "failover"},
	"postgres":     {"none", "kill", "stall", "cut", "psql"},
	"postgres-log": {"none", "kill", "stall", "cut", "psql"},
	"relay":        {"none", "kill", "stall", "cut", "psql", "handover"},
}

// harmless are the faults that do nothing to a server.
var harmless = []string{"none", "stall", "cut", "psql", "handover"}

// newTruth starts what the flags ask for.
func newTruth(ctx context.Context, c config) (truth, error) {
	possible, known := faults[c.truth]
	switch {
	case !known:
		return nil, fmt.Errorf("-truth %q: want redis, postgres, postgres-log or relay", c.truth)
	case !slices.Contains(possible, c.fault):
		return nil, fmt.Errorf("-fault %q: want one of %v with -truth %s", c.fault, possible, c.truth)
	case c.truth == "redis" && c.postgres != "":
		return nil, fmt.Errorf("-postgres %s: want it with -truth postgres, postgres-log or relay", c.postgres)
	case c.truth != "redis" && c.truth != "relay" && c.redis != "":
		return nil, fmt.Errorf("-redis %s: want it with -truth redis or relay", c.redis)
	case c.redis != "" && !slices.Contains(harmless, c.fault):
		return nil, fmt.Errorf("-fault %s harms a Redis: leave -redis out, and one is started for it", c.fault)
	case c.postgres != "" && c.truth != "relay" && !slices.Contains(harmless, c.fault):
		return nil, fmt.Errorf("-fault %s harms a PostgreSQL: leave -postgres out, and one is started for it", c.fault)
	case c.truth == "redis":
		return newOverRedis(c)
	case c.truth == "relay":
		return newOverRelay(ctx, c)
	}
	return newOverPostgres(ctx, c)
}
