package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// Options say what a [Relay] relays. Source and Redis must be set.
type Options struct {
	// Source tells of the changes of the database, by the keys that they have in Redis. One that goes
	// on after a break, as postgres.Changes does, is better than one that then says ChangedAll, as
	// postgres.Log does: after that all keys are removed.
	Source near.Source

	// Redis has the keys. Its Options.Relay names the relay, and its Prefixes are those of the keys that may
	// be removed.
	Redis *redis.Redis

	// Lock chooses one of several relays. nil means that this is the only one.
	Lock Lock

	// MaxLag is the least one of the caches of the fleet. There are at least six beats in it.
	// 0 means a second. Less than 30 ms is refused.
	MaxLag time.Duration

	// OnError is called with each error, after which the relay tries again. It may be nil.
	OnError func(err error)
}

// A Lock chooses one of several relays.
type Lock interface {
	// Hold calls during once this process holds the lock, and ends its context when it does not any more. It
	// returns after during has returned, or when ctx ends, with the reason. The lock need not be
	// perfect: two relays harm nothing but each other.
	Hold(ctx context.Context, during func(ctx context.Context) error) error
}

const (
	defaultMaxLag = time.Second
	minMaxLag     = 30 * time.Millisecond
)

func (o *Options) check() error {
	var wrong []error
	if o.Source == nil {
		wrong = append(wrong, errors.New("near/relay: Source is nil: want one of the database, such as postgres.NewChanges returns"))
	}
	if o.Redis == nil {
		wrong = append(wrong, errors.New("near/relay: Redis is nil: want that from which keys are removed"))
	}
	if o.MaxLag == 0 {
		o.MaxLag = defaultMaxLag
	}
	if o.MaxLag < minMaxLag {
		wrong = append(wrong, fmt.Errorf("near/relay: MaxLag is %v: want at least %v, and that of the caches; was a unit forgotten?", o.MaxLag, minMaxLag))
	}
	if o.Lock == nil {
		o.Lock = alone{}
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return errors.Join(wrong...)
}

// alone is the Lock of the only relay.
type alone struct{}

func (alone) Hold(ctx context.Context, during func(context.Context) error) error { return during(ctx) }

// A Relay removes from Redis what changes in a database. Make one with [New].
type Relay struct {
	options Options
	chain   *redis.Chain
	counts  counts
}

// New returns a relay, which does nothing before Run. An error says what is wrong with the options.
func New(o Options) (*Relay, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	chain, err := o.Redis.Chain()
	if err != nil {
		return nil, err
	}
	return &Relay{options: o, chain: chain}, nil
}

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// Run relays whenever this process holds the lock, until ctx ends. It must not run twice at once.
func (r *Relay) Run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	// The client reads and writes only servers that are watched.
	watching.Go(func() { r.options.Redis.Watch(ctx, deaf{r.options.MaxLag / 2}) })
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		began := time.Now()
		if err := r.options.Lock.Hold(ctx, r.lead); ctx.Err() == nil {
			r.failed(err)
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		sleep(ctx, pause)
	}
}

func (r *Relay) failed(err error) {
	r.counts.failed(err)
	r.options.OnError(err)
}

// deaf is a watcher of what a relay need not know.
type deaf struct{ maxLag time.Duration }

func (d deaf) MaxLag() time.Duration { return d.maxLag }
func (deaf) Changed(...string)       {}
func (deaf) ChangedAll()             {}
func (deaf) Current(time.Time)       {}
func (deaf) Lost(error)              {}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
