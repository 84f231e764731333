package main

import (
	"context"
	"fmt"
	"time"
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
	if f.config.fault == "psql" {
		every = 0 // it goes on all the time
	}
	for ctx.Err() == nil {
		if sleep(ctx, every); ctx.Err() != nil || f.config.fault == "none" {
			return
		}
		if !f.breakThing(ctx, lasts) {
			return
		}
	}
}

// breakThing causes the fault once. It reports whether it can happen again.
func (f *fleet) breakThing(ctx context.Context, lasts time.Duration) bool {
	victim := f.services[0].network
	switch f.config.fault {
	case "stall":
		f.note("the network of instance 1 is silent for %v", lasts)
		victim.stall(ctx, lasts)
	case "cut":
		f.note("the network of instance 1 is down for %v", lasts)
		victim.cut(ctx, lasts)
	default:
		return f.truth.harm(ctx, f, lasts)
	}
	return true
}

func (f *fleet) networks() (all []*network) {
	for _, s := range f.services {
		all = append(all, s.network)
	}
	return all
}

func (f *fleet) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := fmt.Sprintf("%5.1f s: ", time.Since(f.began).Seconds()) + fmt.Sprintf(format, args...)
	f.faults = append(f.faults, text)
}
