package redis

import (
	"context"
	"strings"
	"sync"

	"github.com/pinwheel-cache/pinwheel/near"
)

var (
	_ near.Source  = (*Redis)(nil)
	_ near.Coverer = (*Redis)(nil)
	_ near.Grouper = (*Redis)(nil)

	_ near.PrefixCoverer = (*Redis)(nil)
	_ near.Reporter      = (*Redis)(nil)
	_ near.Marker        = (*Redis)(nil)
	_ near.Revoker       = (*Redis)(nil)
)

// A Redis is a near.Source, a near.Grouper and so a near.Leaser and a near.Store. Its methods are safe for
// concurrent use.
type Redis struct {
	options Options
	seen    seen
	master  mastership // behind Sentinels
	known   known      // of the fleet

	mu       sync.Mutex
	data     *data // nil when closed
	closed   bool
	sessions map[*watched]bool // under way
}

// New connects to Redis until ctx ends. An error says which option is wrong, that Redis cannot
// be reached, or that it cannot push changes (ErrNoTracking).
func New(ctx context.Context, o Options) (*Redis, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Redis{options: o}
	if err := r.first(ctx); err != nil && !(o.StartWithoutRedis && mayPass(err)) {
		return nil, err
	}
	return r, nil
}

// first connects for reading and writing.
func (r *Redis) first(ctx context.Context) error {
	t, err := r.locate(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	// If the masters cannot be watched, Watch would fail each time.
	members, err := r.joinAll(ctx, t, near.NewInbox(0))
	defer closeAll(members)
	if err != nil {
		return err
	}
	return r.connect(ctx, t, newWatched(members))
}

// Covers reports whether changes of a key are told: whether it has one of the prefixes.
func (r *Redis) Covers(key string) bool {
	for _, prefix := range r.options.Prefixes {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// CoversPrefix reports whether changes are told of any key with a prefix.
func (r *Redis) CoversPrefix(prefix string) bool {
	for _, watched := range r.options.Prefixes {
		if strings.HasPrefix(prefix, watched) || strings.HasPrefix(watched, prefix) {
			return true
		}
	}
	return false
}

// Close ends the connections of the store. Calls under way may finish. A Watch ends with its
// context.
func (r *Redis) Close() { r.replace(nil) }
