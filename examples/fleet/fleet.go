package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

const (
	instances = 3
	readers   = 32  // of each instance
	users     = 999 // each instance changes a third

	writePause = 20 * time.Millisecond // between two changes of an instance
	patience   = time.Second           // of a caller
)

// A fleet is three instances of a service, each with a cache and connections of its own. They share a process because only one process can open a bbolt file.
type fleet struct {
	config   config
	backend  *backend
	dir      string
	db       *database
	oracle   neartest.Oracle // knows which version of a user is acknowledged: the copy in Redis was removed
	services []*service
	plain    atomic.Uint64 // reads of the database if there were no caches

	mu      sync.Mutex
	stale   histogram
	beyond  uint64
	longest time.Duration // of a read
	outage  outage
	faults  []string
	began   time.Time

	failed, writes atomic.Uint64
}

// An outage counts the reads of the database while Redis was killed. The most that there may be
// is one for each user and instance in each MaxLag, also in the one that had begun before.
type outage struct{ loads, most uint64 }

// A service is one instance.
type service struct {
	network *neartest.Proxy // before Redis, if it is to break; else nil
	redis   *redis.Redis
	users   *near.Cache[int, user]
	loads   atomic.Uint64 // reads of the database
}

func newFleet(ctx context.Context, c config, b *backend) (f *fleet, err error) {
	f = &fleet{config: c, backend: b, began: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if f.dir, err = os.MkdirTemp("", "fleet"); err != nil {
		return f, err
	}
	if f.db, err = openDatabase(filepath.Join(f.dir, "users.db"), users); err != nil {
		return f, err
	}
	for i := range instances {
		s, err := newService(ctx, fmt.Sprintf("users %d", i+1), i == 0 && (c.fault == "stall" || c.fault == "cut"), c, b)
		if err != nil {
			return f, err
		}
		f.services = append(f.services, s)
	}
	return f, nil
}

// newService makes an instance, whose network may break.
func newService(ctx context.Context, name string, breaks bool, c config, b *backend) (*service, error) {
	s := &service{}
	o := redis.Options{Client: b.options, Prefixes: []string{"users:"}}
	o.Client.ConnWriteTimeout = c.maxLag
	var err error
	if breaks {
		if s.network, err = neartest.NewProxy(b.options.InitAddress[0]); err != nil {
			return nil, err
		}
		o.Client.InitAddress = []string{s.network.Addr}
	}
	for range 10 { // Redis may have just started, and has no longer than maxLag to answer
		if s.redis, err = redis.New(ctx, o); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	s.users, err = near.New(s.redis, lossy{s.redis, c.lossy}, near.Options[int, user]{
		Name: name, Prefix: "users:", Limit: users,
		Expire: 10 * time.Minute, LocalExpire: time.Minute,
		MaxLag: c.maxLag, Lease: time.Second, Timeout: c.maxLag, Audit: 1000,
	})
	if err != nil {
		s.redis.Close()
		return nil, err
	}
	return s, nil
}

func (f *fleet) close() (err error) {
	for _, s := range f.services {
		err = errors.Join(err, s.users.Close(context.Background()))
		s.redis.Close()
		if s.network != nil {
			s.network.Close()
		}
	}
	if f.db != nil {
		err = errors.Join(err, f.db.bolt.Close())
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// run reads, writes and breaks things until ctx ends.
func (f *fleet) run(ctx context.Context) {
	var all sync.WaitGroup
	for i, s := range f.services {
		for range readers {
			all.Go(func() {
				pause := time.Second * instances * readers / time.Duration(f.config.rate)
				sleep(ctx, rand.N(pause)) // they do not read all at once
				turns := time.NewTicker(pause)
				defer turns.Stop()
				for popular := popularity(); ctx.Err() == nil; wait(ctx, turns.C) {
					f.read(ctx, s, int(popular.Uint64()))
				}
			})
		}
		all.Go(func() {
			for popular := popularity(); ctx.Err() == nil; sleep(ctx, writePause) {
				id := int(popular.Uint64()) / instances * instances // one writer for each user
				f.write(ctx, s, id+i)
			}
		})
	}
	all.Go(func() { f.breakThings(ctx) })
	all.Wait()
}

// popularity draws users, some much more often than others.
func popularity() *rand.Zipf {
	return rand.NewZipf(rand.New(rand.NewPCG(rand.Uint64(), 0)), 1.1, 4, users-1)
}

// read asks an instance for a user and records how stale the answer is.
func (f *fleet) read(running context.Context, s *service, id int) {
	ctx, cancel := context.WithTimeout(running, patience)
	defer cancel()
	began := time.Now()
	got, err := s.users.Take(ctx, id, func(context.Context) (user, error) {
		s.loads.Add(1)
		return f.db.read(id)
	})
	f.mu.Lock()
	f.longest = max(f.longest, time.Since(began))
	f.mu.Unlock()
	if err != nil {
		if running.Err() == nil {
			f.failed.Add(1)
		}
		return
	}
	stale := f.oracle.Judge(id, got.Version, began).Stale
	f.withoutNear(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale.add(stale)
	if stale > f.config.maxLag {
		f.beyond++
	}
}

// withoutNear is the same read by a service without caches: it asks the database.
func (f *fleet) withoutNear(id int) {
	if _, err := f.db.read(id); err == nil {
		f.plain.Add(1)
	}
}

// write changes a user and removes the copies. The change counts as acknowledged when the
// one in Redis is gone.
func (f *fleet) write(ctx context.Context, s *service, id int) {
	version, err := f.db.change(id)
	if err != nil {
		f.failed.Add(1)
		return
	}
	f.writes.Add(1)
	for f.remove(ctx, s, id) != nil {
		if sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
			return
		}
	}
	f.oracle.Acknowledge(id, version)
}

// remove removes the copies of a user. What a failover may lose counts when the replica has
// lost it too.
func (f *fleet) remove(ctx context.Context, s *service, id int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.users.Del(ctx, id); err != nil {
		return err
	}
	return f.backend.sync()
}

func (f *fleet) summary() summary {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := summary{
		Reads: f.stale.total, StaleBeyondMaxLag: f.beyond, Staleness: f.stale.quantiles(),
		DatabaseReadsWithoutNear: f.plain.Load(), Writes: f.writes.Load(), Failed: f.failed.Load(),
		LongestMs: milliseconds(f.longest), OutageReads: f.outage.loads, OutageMost: f.outage.most,
		Faults: append([]string{}, f.faults...),
	}
	for _, service := range f.services {
		stats := service.users.Stats()
		loads := service.loads.Load()
		s.DatabaseReads += loads
		s.Violations += stats.Near.Audits.Violations
		s.Instances = append(s.Instances, instance{
			Here: stats.Hits, There: stats.Near.RemoteHits, None: loads, Waits: stats.Near.Waits,
			Reconnects: stats.Near.Reconnects, Serving: stats.Near.Serving, LagMs: milliseconds(stats.Near.Lag),
		})
	}
	return s
}
