package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// An overRelay has the rows in PostgreSQL, and copies in Redis. One of two relays removes from
// Redis what changes in PostgreSQL, which tells the near caches.
type overRelay struct {
	database *overPostgres
	redis    *backend
	relays   []*running
}

// A running relay has connections of its own.
type running struct {
	relay *relay.Relay
	stop  func()
}

const relayName = "fleet"

func newOverRelay(ctx context.Context, c config) (_ truth, err error) {
	r := &overRelay{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	if r.database, err = newOverPostgres(ctx, c); err != nil {
		return nil, err
	}
	if r.redis, err = newBackend(c.redis, c.fault); err != nil {
		return nil, err
	}
	for range 2 {
		one, err := r.startRelay()
		if err != nil {
			return nil, err
		}
		r.relays = append(r.relays, one)
	}
	return r, nil
}

func (r *overRelay) stop() (err error) {
	for _, one := range r.relays {
		one.stop()
	}
	if r.redis != nil {
		r.redis.stop()
	}
	if r.database != nil {
		err = r.database.stop()
	}
	return err
}

// startRelay starts what would be a process of its own.
func (r *overRelay) startRelay() (_ *running, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	ends := []func(){cancel}
	stop := func() {
		for _, end := range ends {
			end()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	store, err := redis.New(ctx, redis.Options{Client: r.redis.options, Prefixes: []string{"users:"}, Relay: relayName})
	if err != nil {
		return nil, err
	}
	ends = append(ends, store.Close)
	db, err := pgxpool.New(ctx, r.database.url.String())
	if err != nil {
		return nil, err
	}
	ends = append(ends, db.Close)
	changes, err := postgres.NewChanges(db, postgres.ChangesOptions{Tables: []postgres.Table{usersTable}})
	if err != nil {
		return nil, err
	}
	lock, err := relay.NewAdvisoryLock(r.database.url.String(), relayName)
	if err != nil {
		return nil, err
	}
	one := &running{}
	one.relay, err = relay.New(relay.Options{Source: changes, Redis: store, Lock: lock, MaxLag: r.database.config.maxLag})
	if err != nil {
		return nil, err
	}
	var runs sync.WaitGroup
	runs.Go(func() { one.relay.Run(ctx) })
	ends = []func(){cancel, runs.Wait, store.Close, db.Close}
	one.stop = stop
	return one, nil
}

// join makes an instance whose connections to both servers go over its network.
func (r *overRelay) join(ctx context.Context, name string) (_ *service, err error) {
	s, db, err := r.database.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	o := redis.Options{Client: r.redis.options, Prefixes: []string{"users:"}, Relay: relayName}
	o.Client.DialCtxFn = s.network.dial
	o.Client.ConnWriteTimeout = r.database.config.maxLag
	store, err := redis.New(ctx, o)
	if err != nil {
		return nil, err
	}
	s.alsoClose(func() error { store.Close(); return nil })
	over, err := relay.Over(store)
	if err != nil {
		return nil, err
	}
	cached, err := near.New(over, over, near.Options[int, user]{
		Name: name, Prefix: "users:", Limit: users,
		Expire: 10 * time.Minute, LocalExpire: time.Minute,
		MaxLag: r.database.config.maxLag, Lease: time.Second, Timeout: r.database.config.maxLag,
	})
	if err != nil {
		return nil, err
	}
	s.take = func(ctx context.Context, id int) (user, error) {
		return cached.Take(ctx, id, func(ctx context.Context) (user, error) { return s.load(ctx, db, id) })
	}
	s.stats = cached.Stats
	s.alsoClose(func() error { return cached.Close(context.Background()) })
	return s, nil
}

// change counts as acknowledged when the database has it. Nobody but the relay removes anything.
func (r *overRelay) change(ctx context.Context, s *service, id int) (version int, err error) {
	return r.database.change(ctx, s, id)
}

func (r *overRelay) readWithoutNear(id int) error { return r.database.readWithoutNear(id) }

func (r *overRelay) harm(ctx context.Context, f *fleet, lasts time.Duration) bool {
	switch f.config.fault {
	case "kill":
		f.note("Redis is killed, and starts empty after %v", lasts)
		if err := r.redis.kill(ctx, lasts); err != nil {
			f.note("Redis does not start again: %v", err)
			return false
		}
	case "handover":
		f.note("the relay that leads ends, another takes over, and a new one waits")
		if err := r.handOver(); err != nil {
			f.note("the new one does not start: %v", err)
			return false
		}
	default:
		return r.database.harm(ctx, f, lasts)
	}
	return true
}

// handOver ends the relay that leads, if one does, and starts another.
func (r *overRelay) handOver() (err error) {
	for i, one := range r.relays {
		if one.relay.Status().Leads {
			one.stop()
			r.relays[i], err = r.startRelay()
			if err != nil {
				r.relays = append(r.relays[:i], r.relays[i+1:]...)
			}
			return err
		}
	}
	return nil
}
