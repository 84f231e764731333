package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// inboxRoom is how many bytes of keys wait while Redis is slow. When there are more, all keys are
// removed.
const inboxRoom = 16 << 20

// lead relays until ctx ends or the chain of removals breaks.
func (r *Relay) lead(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	steps, err := r.chain.Begin(ctx)
	if err != nil {
		return err
	}
	r.counts.begin()
	defer r.counts.end()
	in := near.NewInbox(inboxRoom)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { r.options.Source.Watch(ctx, hasty{in, r.options.MaxLag / 2}) })
	in.Tell(ctx, &leader{relay: r, steps: steps, ctx: ctx, end: end})
	return context.Cause(ctx)
}

// hasty is a watcher with a MaxLag.
type hasty struct {
	near.Watcher
	maxLag time.Duration
}

func (h hasty) MaxLag() time.Duration { return h.maxLag }

// A leader is told what has changed in the database, and removes it from Redis. Unlike other
// watchers it waits, for Redis. Its methods are called by one goroutine.
type leader struct {
	relay *Relay
	steps *redis.Steps
	ctx   context.Context
	end   context.CancelCauseFunc
	acked time.Time // when the last beat was acknowledged
}

// Changed removes keys.
func (l *leader) Changed(keys ...string) {
	if l.try(func() error { return l.steps.Del(l.ctx, keys...) }) {
		l.relay.counts.removed.Add(uint64(len(keys)))
	}
}

// ChangedAll removes all keys.
func (l *leader) ChangedAll() {
	if l.try(func() error { return l.steps.DelAll(l.ctx) }) {
		l.relay.counts.removedAll.Add(1)
	}
}

// Current writes a beat, if the database was asked after the last one.
func (l *leader) Current(asOf time.Time) {
	if asOf.Before(l.acked) {
		return
	}
	if l.try(func() error { return l.steps.Beat(l.ctx) }) {
		l.acked = time.Now()
		l.relay.counts.beat(l.acked)
	}
}

// Lost is followed by nothing until the next ChangedAll, so there are no beats.
func (l *leader) Lost(err error) { l.relay.failed(err) }

// try repeats a step until Redis has made it. It returns false when the relay has ended.
func (l *leader) try(step func() error) bool {
	for pause := firstPause; l.ctx.Err() == nil; pause = min(2*pause, lastPause) {
		err := step()
		switch {
		case err == nil:
			return true
		case errors.Is(err, redis.ErrChainBroken):
			l.end(err)
		case l.ctx.Err() == nil:
			l.relay.failed(err)
			sleep(l.ctx, pause)
		}
	}
	return false
}
