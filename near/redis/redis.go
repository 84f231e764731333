package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/near"
)

var (
	_ near.Source  = (*Redis)(nil)
	_ near.Coverer = (*Redis)(nil)
	_ near.Leaser  = (*Redis)(nil)
)

// A Redis is a near.Source, a near.Leaser and so a near.Store. Its methods are safe for
// concurrent use.
type Redis struct {
	options *Options // not printed as a part of what has a Redis: it has passwords

	entering sync.Mutex // of enter

	open      context.Context // until Close
	stop      context.CancelFunc
	releasing sync.WaitGroup // of leases, in the background; none begins after Close

	untracked atomic.Bool // some master does not track

	mu       sync.Mutex
	data     *data // nil when closed
	closed   bool
	sessions []*session
	runs     map[string]string // the run_id of each address
	why      error             // the last session has ended, or could not begin; nil before
	releases int               // goroutines of releasing
}

// New connects to Redis. An error says which option is wrong, that Redis cannot be reached,
// or that it cannot push changes (ErrNoTracking).
func New(ctx context.Context, o Options) (*Redis, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Redis{options: &o, runs: map[string]string{}}
	r.open, r.stop = context.WithCancel(context.Background())
	if err := r.start(ctx); err != nil {
		if !o.ConnectLater || !passes(err) {
			r.stop()
			return nil, err
		}
		r.why = err
		r.options.log().Warn("near/redis: Redis cannot be reached yet", "err", err)
	}
	return r, nil
}

func (r *Redis) start(ctx context.Context) error {
	t, err := r.locate(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	if err := r.canWatch(ctx, t); err != nil {
		return err
	}
	return r.connect(t)
}

// Format prints, for every verb of package fmt, where Redis is, without passwords.
func (r *Redis) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "&redis.Redis%v", *r.options) }

// canWatch returns an error if the masters cannot be watched: Watch would fail each time.
func (r *Redis) canWatch(ctx context.Context, t topology) error {
	if r.options.Channel != "" {
		if t.cluster != nil {
			return errChannelInCluster
		}
		return nil
	}
	members, errs := r.joinAll(ctx, t, newInbox(0))
	defer closeAll(members)
	r.note(members)
	return errors.Join(errs...)
}

// Covers reports whether changes of a key are told: whether it has one of the prefixes.
func (r *Redis) Covers(key string) bool {
	return slices.ContainsFunc(r.options.Prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Server returns the number of the server that has a key: in a cluster, of its master.
func (r *Redis) Server(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.data == nil || r.data.cluster == nil {
		return 0
	}
	if i := r.data.cluster.master(r.data.Client, key); i >= 0 {
		return i
	}
	return len(r.data.cluster.masters)
}

// Close ends the connections of the store. Calls under way may finish. A Watch ends with its
// context.
func (r *Redis) Close() {
	r.replace(nil)
	r.stop()
	r.releasing.Wait()
}
