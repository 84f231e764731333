package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pinwheel-cache/pinwheel/near"
)

var (
	_ near.Source        = (*Redis)(nil)
	_ near.PartialSource = (*Redis)(nil)
	_ near.Coverer       = (*Redis)(nil)
	_ near.Leaser        = (*Redis)(nil)
	_ near.Fleet         = (*Redis)(nil)
	_ near.Sharded       = (*Redis)(nil)
)

// A Redis is a near.Source, a near.Leaser and so a near.Store. Its methods are safe for
// concurrent use.
type Redis struct {
	options *Options // a pointer, as fmt would print the passwords with what contains a Redis
	clients clients
	source  source

	open      context.Context // until Close
	stop      context.CancelFunc
	releasing sync.WaitGroup // of leases, in the background; none begins after Close

	mu       sync.Mutex
	releases int // goroutines of releasing
}

// New connects to Redis. An error says which option is wrong, that Redis cannot be reached,
// or that it cannot push changes (ErrNoTracking).
func New(ctx context.Context, o Options) (*Redis, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Redis{options: &o, clients: clients{options: &o}}
	r.source = source{options: &o, clients: &r.clients, runs: map[string]string{}}
	r.source.sessions = sessions{options: &o, clients: &r.clients}
	r.open, r.stop = context.WithCancel(context.Background())
	if err := r.source.connect(ctx); err != nil {
		if !o.ConnectLater || !passes(err) {
			r.stop()
			return nil, err
		}
		r.clients.ended(err)
		o.log().Warn("near/redis: Redis cannot be reached yet", "err", err)
	}
	return r, nil
}

// Format prints, for every verb of package fmt, where Redis is, without passwords.
func (r *Redis) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "&redis.Redis%v", *r.options) }

// Watch tells w of changes until ctx ends. It connects again whenever a connection breaks,
// falls silent for the MaxLag of w, or leads to a server that may have been replaced.
func (r *Redis) Watch(ctx context.Context, w near.Watcher) { r.source.watch(ctx, w) }

// Covers reports whether changes of a key are told: whether it has one of the prefixes.
func (r *Redis) Covers(key string) bool {
	return slices.ContainsFunc(r.options.Prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Partial reports whether changes may come late or not at all: at present a master does not
// track, and sends keyspace notifications; or Options.Channel is set. The package documentation
// says what is missing.
func (r *Redis) Partial() bool { return r.options.Channel != "" || r.source.untracked.Load() }

// Server returns the number of the server that has a key: in a cluster, of its master.
func (r *Redis) Server(key string) int { return r.clients.server(key) }

// Close ends the connections of the store. Calls under way may finish. A Watch ends with its
// context. Close waits for nothing of the program, so it needs no context itself.
func (r *Redis) Close() {
	r.clients.replace(nil)
	r.mu.Lock() // no release begins afterwards
	r.stop()
	r.mu.Unlock()
	r.releasing.Wait()
}
