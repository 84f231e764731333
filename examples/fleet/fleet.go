package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

const (
	instances = 3
	readers   = 32 // of each instance
	users     = 1000
	writers   = instances + 1 // each changes some of the users; the last one by hand

	writePause = 20 * time.Millisecond // between two changes of an instance
	patience   = time.Second           // of a caller
)

// A fleet is three instances of a service, each with a cache and connections of its own. They share a process because only one process can open a bbolt file.
type fleet struct {
	config   config
	backend  *backend
	db       database
	oracle   neartest.Oracle // knows which version of a user is acknowledged: who has changed it was told so
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

func newFleet(ctx context.Context, c config, b *backend) (f *fleet, err error) {
	f = &fleet{config: c, backend: b, began: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if c.truth == "redis" {
		f.db, err = openFile()
	} else {
		f.db, err = b.install(ctx)
	}
	if err != nil {
		return f, err
	}
	for i := range instances {
		s := &service{config: c, backend: b, name: fmt.Sprintf("users %d", i+1), db: f.db}
		f.services = append(f.services, s)
		if i == 0 && (c.fault == "stall" || c.fault == "cut") {
			if s.network, err = neartest.NewProxy(b.addr()); err != nil {
				return f, err
			}
			s.undo = append(s.undo, s.network.Close)
		}
		if err := truths[c.truth](s, ctx); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *fleet) close() (err error) {
	for _, s := range f.services {
		err = errors.Join(err, s.close())
	}
	if f.db != nil {
		err = errors.Join(err, f.db.end())
	}
	return err
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
				f.write(ctx, s, userOf(popular, i))
			}
		})
	}
	if f.config.fault == "psql" {
		f.note("somebody changes rows by hand all the time, and tells nobody")
		all.Go(func() {
			for popular := popularity(); ctx.Err() == nil; sleep(ctx, writePause) {
				f.write(ctx, &service{db: f.db}, userOf(popular, instances))
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

// userOf draws a user whom one of the writers changes, and nobody else.
func userOf(popular *rand.Zipf, writer int) int {
	return int(popular.Uint64())/writers*writers + writer
}

// read asks an instance for a user and records how stale the answer is.
func (f *fleet) read(running context.Context, s *service, id int) {
	ctx, cancel := context.WithTimeout(running, patience)
	defer cancel()
	began := time.Now()
	got, err := s.users.Take(ctx, id, func(ctx context.Context) (user, error) {
		s.loads.Add(1)
		return s.db.read(ctx, id)
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
	f.withoutNear(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale.add(stale)
	if stale > f.config.maxLag {
		f.beyond++
	}
}

// withoutNear is the same read by a service without caches: it asks the database.
func (f *fleet) withoutNear(ctx context.Context, id int) {
	f.plain.Add(1)
	_, _ = f.db.read(ctx, id)
}

// write changes a user. The change counts as acknowledged when all has been done that the instance does to tell of it.
func (f *fleet) write(running context.Context, s *service, id int) {
	ctx, cancel := context.WithTimeout(running, patience)
	defer cancel()
	version, err := s.db.change(ctx, id)
	if err != nil {
		return
	}
	f.writes.Add(1)
	for s.del != nil && f.remove(running, s, id) != nil {
		if sleep(running, 10*time.Millisecond); running.Err() != nil {
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
	if err := s.del(ctx, id); err != nil {
		return err
	}
	return f.backend.sync()
}

func (f *fleet) summary() summary {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := summary{
		Truth: f.config.truth,
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
