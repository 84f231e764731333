package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/relay"
	"github.com/pinwheel-cache/pinwheel/stats"
)

const prefix = "users:" // of keys

// A database has the users, until end. change gives one a new version, and returns it.
type database interface {
	read(ctx context.Context, id int) (user, error)
	change(ctx context.Context, id int) (version int, err error)
	end() error
}

// A user is a row. Its version counts its changes.
type user struct {
	ID      int
	Name    string
	Version int
}

// A service is one instance, with connections of its own.
type service struct {
	config  config
	backend *backend
	name    string
	network *neartest.Proxy // before Redis, or before PostgreSQL if there is no Redis; nil if it is not to break
	db      database
	users   userCache
	del     func(ctx context.Context, ids ...int) error // tells of changes; nil: the database does
	loads   atomic.Uint64                               // reads of the database
	undo    []func()                                    // ends what has begun, the last first
}

// A userCache is the cache of an instance.
type userCache interface {
	Take(ctx context.Context, id int, load func(context.Context) (user, error)) (user, error)
	Stats() stats.Snapshot
	Close(ctx context.Context) error
}

// truths are the values of -truth: what no answer lags behind by more than MaxLag.
var truths = map[string]func(*service, context.Context) error{
	"redis": (*service).overRedis, "postgres": (*service).overPostgres, "relay": (*service).overRelay,
}

// overRedis has a near cache over Redis, which is true if who changes the database says so.
func (s *service) overRedis(ctx context.Context) error {
	shared, err := s.redis(ctx)
	if err != nil {
		return err
	}
	users, err := s.near(shared, lossy{shared, s.config.lossy})
	s.del = users.Del
	return err
}

// overPostgres has a cache in memory only.
func (s *service) overPostgres(ctx context.Context) error {
	changes, err := s.postgres(ctx)
	if err != nil {
		return err
	}
	users, err := near.NewLocal(changes, near.LocalOptions[int, user]{
		Cache:  cache.Options[int, user]{Name: s.name, Limit: users, Expire: time.Minute},
		Prefix: prefix, MaxLag: s.config.maxLag, CheckClock: true,
	})
	if err == nil {
		s.users = local{users}
	}
	return err
}

// overRelay has a near cache over Redis, which relays keep true.
func (s *service) overRelay(ctx context.Context) error {
	changes, err := s.postgres(ctx)
	if err != nil {
		return err
	}
	shared, err := s.redis(ctx)
	if err != nil {
		return err
	}
	relaying, end := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		relay.Run(relaying, changes, shared, relay.Options{Every: s.config.maxLag / 10, Timeout: 2 * s.config.maxLag})
	})
	s.undo = append(s.undo, ended.Wait, end)
	truth := relay.Follow(changes, shared, lossy{shared, s.config.lossy})
	_, err = s.near(truth, truth)
	return err
}

func (s *service) near(store near.Store, source near.Source) (*near.Cache[int, user], error) {
	users, err := near.New(store, source, near.Options[int, user]{
		Name: s.name, Prefix: prefix, Limit: users,
		Expire: 10 * time.Minute, LocalExpire: time.Minute,
		MaxLag: s.config.maxLag, CheckClock: true, Lease: time.Second, Timeout: s.config.maxLag, Audit: 1000,
	})
	if err == nil {
		s.users = users
	}
	return users, err
}

// redis connects to Redis.
func (s *service) redis(ctx context.Context) (shared *redis.Redis, err error) {
	o := redis.Options{Client: s.backend.redis, Prefixes: []string{prefix}}
	o.Client.ConnWriteTimeout = s.config.maxLag
	if s.network != nil {
		o.Client.InitAddress = []string{s.network.Addr}
	}
	for range 10 { // Redis may have just started, and has no longer than maxLag to answer
		if shared, err = redis.New(ctx, o); err == nil {
			s.undo = append(s.undo, shared.Close)
			return shared, nil
		}
	}
	return nil, err
}

// postgres connects to PostgreSQL, and returns what changes there.
func (s *service) postgres(ctx context.Context) (*postgres.Changes, error) {
	through := s.network
	if s.config.truth == "relay" {
		through = nil
	}
	own, err := s.backend.openRows(ctx, through)
	if err != nil {
		return nil, err
	}
	s.db, s.undo = own, append(s.undo, own.Close)
	return postgres.NewChanges(own.Pool, postgres.ChangesOptions{Tables: own.tables()})
}

func (s *service) close() (err error) {
	if s.users != nil {
		err = s.users.Close(context.Background())
	}
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	return err
}

// A local is a cache in memory, whose functions that load know nothing of it.
type local struct{ *near.Local[int, user] }

func (l local) Take(ctx context.Context, id int, load func(context.Context) (user, error)) (user, error) {
	return l.Local.Take(ctx, id, func(ctx context.Context, _ *cache.Load[user]) (user, error) { return load(ctx) })
}
