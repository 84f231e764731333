package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

const (
	faultEvery = 10 * time.Second
	faultLasts = 3 * time.Second
)

// breakThings causes the fault of -fault: every ten seconds, or twice in -for.
func (f *fleet) breakThings(ctx context.Context) {
	every, lasts := faultEvery, faultLasts
	if f.config.runFor > 0 {
		every = f.config.runFor / 3
		lasts = min(lasts, every/2)
	}
	for ctx.Err() == nil {
		if sleep(ctx, every); ctx.Err() != nil || f.config.fault == "none" || f.config.fault == "psql" {
			return
		}
		if !f.breakThing(ctx, lasts) {
			return
		}
	}
}

// breakThing causes the fault once. It reports whether it can happen again.
func (f *fleet) breakThing(ctx context.Context, lasts time.Duration) bool {
	switch f.config.fault {
	case "kill":
		if f.config.truth == "postgres" {
			f.note("PostgreSQL is killed, and starts after %v", lasts)
		} else {
			f.note("Redis is killed, and starts empty after %v", lasts)
		}
		began, before := time.Now(), f.loads()
		err := f.backend.kill(ctx, lasts)
		if f.config.truth != "postgres" {
			f.mu.Lock()
			f.outage.loads += f.loads() - before
			f.outage.most += users * instances * uint64(time.Since(began)/f.config.maxLag+2)
			f.mu.Unlock()
		}
		if err != nil {
			f.note("it does not start again: %v", err)
			return false
		}
	case "stall", "cut":
		f.note("the network of instance 1 breaks (%s) for %v", f.config.fault, lasts)
		over := f.services[0].network.Begin(map[string]neartest.Fault{"stall": neartest.Stall, "cut": neartest.Cut}[f.config.fault], neartest.BothWays)
		sleep(ctx, lasts)
		over()
	case "failover":
		f.note("the master is killed, and Sentinel makes its replica the master")
		f.backend.promoted.Store(true)
		f.backend.failover.Master.Kill()
		return false
	}
	return true
}

// loads returns how often the database was read for the caches.
func (f *fleet) loads() (n uint64) {
	for _, s := range f.services {
		n += s.loads.Load()
	}
	return n
}

func (f *fleet) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := fmt.Sprintf("%5.1f s: ", time.Since(f.began).Seconds()) + fmt.Sprintf(format, args...)
	f.faults = append(f.faults, text)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) { wait(ctx, time.After(d)) }

// wait waits for the moment, or until ctx ends.
func wait(ctx context.Context, moment <-chan time.Time) {
	select {
	case <-ctx.Done():
	case <-moment:
	}
}
