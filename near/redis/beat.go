package redis

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

var errBroken = errors.New("the connection broke")

// beat asks a member three times in maxLag. Redis sends the changes of one round of its event
// loop after the replies of that round; so a reply vouches only for changes before the
// previous question was sent.
func beat(ctx context.Context, maxLag time.Duration, broken <-chan struct{}, ask func(context.Context, time.Duration) error, vouch func(asOf time.Time)) error {
	tick := time.NewTicker(maxLag / 3)
	defer tick.Stop()
	var previous time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-broken:
			return errBroken
		case <-tick.C:
		}
		asked := time.Now()
		if err := ask(ctx, maxLag); err != nil {
			return err
		}
		if !previous.IsZero() {
			vouch(previous)
		}
		previous = asked
	}
}

// vouched has the moment for which each member vouches.
type vouched struct {
	mu   sync.Mutex
	asOf []time.Time
	in   *inbox
}

// set records that member i vouches for all changes before asOf, and passes on the moment for
// which all members vouch.
func (v *vouched) set(i int, asOf time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asOf[i] = asOf
	if oldest := slices.MinFunc(v.asOf, time.Time.Compare); !oldest.IsZero() {
		v.in.current(oldest)
	}
}
