package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	instances = 3
	readers   = 32  // of each instance
	users     = 999 // each instance changes a third

	readPause  = 8 * time.Millisecond  // between two reads of a reader
	writePause = 20 * time.Millisecond // between two changes of an instance
	patience   = time.Second           // of a caller
)

// A fleet is three instances of a service, each with a cache, connections and a network of its
// own. They share a process, so that one clock judges how stale an answer is.
type fleet struct {
	config   config
	truth    truth
	ledger   *ledger
	services []*service
	plain    atomic.Uint64 // reads of the database by a fleet without caches under the same load

	mu     sync.Mutex
	stale  histogram
	beyond uint64
	faults []string
	began  time.Time

	failed, writes atomic.Uint64
}

func newFleet(ctx context.Context, c config, t truth) (f *fleet, err error) {
	f = &fleet{config: c, truth: t, ledger: &ledger{users: map[int][]acknowledged{}}, began: time.Now()}
	for i := range instances {
		s, err := t.join(ctx, fmt.Sprintf("users %d", i+1))
		if err != nil {
			return f, errors.Join(err, f.close())
		}
		f.services = append(f.services, s)
	}
	return f, nil
}

func (f *fleet) close() (err error) {
	for _, s := range f.services {
		err = errors.Join(err, s.close())
	}
	return err
}

// run reads, writes and breaks things until ctx ends.
func (f *fleet) run(ctx context.Context) {
	var all sync.WaitGroup
	for i, s := range f.services {
		for range readers {
			all.Go(func() {
				for popular := popularity(); ctx.Err() == nil; sleep(ctx, readPause) {
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
	got, err := s.take(ctx, id)
	if err != nil {
		if running.Err() == nil {
			f.failed.Add(1)
		}
		return
	}
	stale := f.ledger.staleness(id, got.Version, began)
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
	if f.truth.readWithoutNear(id) == nil {
		f.plain.Add(1)
	}
}

// write changes a user by an instance.
func (f *fleet) write(ctx context.Context, s *service, id int) {
	version, err := f.truth.change(ctx, s, id)
	if err != nil {
		if ctx.Err() == nil {
			f.failed.Add(1)
		}
		return
	}
	f.writes.Add(1)
	f.ledger.acknowledge(id, version)
}

func (f *fleet) summary() summary {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := summary{
		Truth: f.config.truth, Reads: f.stale.total, StaleBeyondMaxLag: f.beyond, Staleness: f.stale.quantiles(),
		DatabaseReadsWithoutNear: f.plain.Load(), Writes: f.writes.Load(), Failed: f.failed.Load(),
		Faults: append([]string{}, f.faults...),
	}
	for _, service := range f.services {
		stats := service.stats()
		loads := service.loads.Load()
		s.DatabaseReads += loads
		s.Instances = append(s.Instances, instance{
			Here: stats.Hits, There: stats.Near.RemoteHits, None: loads, Waits: stats.Near.Waits,
			Reconnects: stats.Near.Reconnects, Errors: stats.Near.SourceErrors, Serving: stats.Near.Serving, LagMs: milliseconds(stats.Near.Lag),
		})
	}
	return s
}
