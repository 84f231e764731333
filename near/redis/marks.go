package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// known is what this process knows of its fleet.
type known struct {
	marks near.Marks

	mu    sync.Mutex // guards what follows
	epoch string
	since time.Time     // by when the epoch was known
	most  time.Duration // the longest MaxLag that was seen
}

// heard records that the fleet was in a state by some moment.
func (k *known) heard(now fleetState, by time.Time) {
	k.marks.Heard(now.epoch, now.marks, by)
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.epoch != k.epoch {
		k.epoch, k.since = now.epoch, by
	}
}

// knew reports whether an epoch was known by a moment, and has been the last one since.
func (k *known) knew(epoch string, by time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return epoch != "" && epoch == k.epoch && !k.since.After(by)
}

// lag records a MaxLag.
func (k *known) lag(maxLag time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.most = max(k.most, maxLag)
}

func (k *known) longest() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.most
}

var errNoRunID = errors.New("near/redis: the server does not tell its run_id, without which marks of two servers cannot be told apart")

// Mark returns a mark of now, which all instances with the same Options.Fleet know, once their next
// beat has been answered: they make three in MaxLag. It is near.UnknownMark without a Fleet.
//
// Its text has about 70 bytes: the run id of the server, a name of the count, and the count.
func (r *Redis) Mark(ctx context.Context) (near.Mark, error) {
	if r.options.Fleet == "" {
		return near.UnknownMark, nil
	}
	now, err := r.fleetState(ctx, markScript)
	if err == nil && now.epoch == "" {
		err = errNoRunID
	}
	if err != nil {
		return near.UnknownMark, err
	}
	r.known.heard(now, time.Now())
	return r.known.marks.Mark(now.epoch, now.marks), nil
}

// Moment returns a time of this process that comes after a mark, or false if none is known yet.
func (r *Redis) Moment(mark near.Mark) (time.Time, bool) { return r.known.marks.Moment(mark) }
