package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// An overRedis has the rows in a bbolt file. Whoever changes one removes its copy in Redis, which
// tells the near caches.
type overRedis struct {
	*backend
	config config
	dir    string
	db     *database
}

func newOverRedis(c config) (_ truth, err error) {
	r := &overRedis{config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	if r.backend, err = newBackend(c.redis, c.fault); err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "fleet"); err != nil {
		return nil, err
	}
	r.db, err = openDatabase(filepath.Join(r.dir, "users.db"), users)
	return r, err
}

func (r *overRedis) stop() (err error) {
	r.backend.stop()
	if r.db != nil {
		err = r.db.bolt.Close()
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

func (r *overRedis) join(ctx context.Context, name string) (*service, error) {
	s := &service{network: newNetwork()}
	o := redis.Options{Client: r.options, Prefixes: []string{"users:"}}
	o.Client.DialCtxFn = s.network.dial
	o.Client.ConnWriteTimeout = r.config.maxLag
	source, err := redis.New(ctx, o)
	if err != nil {
		return nil, err
	}
	cached, err := near.New(source, source, near.Options[int, user]{
		Name: name, Prefix: "users:", Limit: users,
		Expire: 10 * time.Minute, LocalExpire: time.Minute,
		MaxLag: r.config.maxLag, Lease: time.Second, Timeout: r.config.maxLag,
	})
	if err != nil {
		source.Close()
		return nil, err
	}
	s.take = func(ctx context.Context, id int) (user, error) {
		return cached.Take(ctx, id, func(context.Context) (user, error) {
			s.loads.Add(1)
			return r.db.read(id)
		})
	}
	s.remove = func(ctx context.Context, id int) error { return cached.Del(ctx, id) }
	s.stats = cached.Stats
	s.close = func() error {
		defer source.Close()
		return cached.Close(context.Background())
	}
	return s, nil
}

// change counts as acknowledged when the copy in Redis is gone.
func (r *overRedis) change(ctx context.Context, s *service, id int) (version int, err error) {
	if version, err = r.db.change(id); err != nil {
		return 0, err
	}
	for r.remove(ctx, s, id) != nil {
		if sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return version, nil
}

// remove removes the copies of a user. What a failover may lose counts when the replica has
// lost it too.
func (r *overRedis) remove(ctx context.Context, s *service, id int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.remove(ctx, id); err != nil {
		return err
	}
	return r.sync()
}

func (r *overRedis) readWithoutNear(id int) error {
	_, err := r.db.read(id)
	return err
}

func (r *overRedis) harm(ctx context.Context, f *fleet, lasts time.Duration) bool {
	switch f.config.fault {
	case "kill":
		f.note("Redis is killed, and starts empty after %v", lasts)
		if err := r.kill(ctx, lasts); err != nil {
			f.note("Redis does not start again: %v", err)
			return false
		}
	case "busy":
		f.note("Redis runs a script for %v, and refuses all else", lasts)
		if err := r.busy(lasts); err != nil {
			f.note("Redis does not run the script: %v", err)
		}
	case "full":
		f.note("Redis refuses to write for %v: its memory is full", lasts)
		if err := r.full(ctx, lasts); err != nil {
			f.note("Redis cannot be configured: %v", err)
		}
	case "switch":
		f.note("the address of Redis leads to another server, which is empty; the old one stays")
		if err := r.switchTo(f.networks()); err != nil {
			f.note("Redis cannot be switched: %v", err)
		}
	case "failover":
		f.note("the master is killed, and Sentinel makes its replica the master")
		r.promote()
		return false
	}
	return true
}
