package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

var (
	_ near.Source  = (*Changes)(nil)
	_ near.Coverer = (*Changes)(nil)

	_ near.PrefixCoverer = (*Changes)(nil)
	_ near.Reporter      = (*Changes)(nil)
)

// ChangesOptions say what a [Changes] reads. Tables must be set.
type ChangesOptions struct {
	// Tables are those that SQL was given, or some of them. Only their keys are kept in memory.
	Tables []Table

	// Retention is how long the database keeps changes. A watcher that could not read for longer
	// forgets everything. 0 means ten minutes. Watchers remove older ones, one of them at a time.
	// If it is negative they do not, and the database must, by pinwheel.prune. Less than ten
	// seconds are refused.
	Retention time.Duration

	// MaxKeys bounds how many keys one poll reads. If more have changed, everything is
	// forgotten. 0 means 100,000.
	MaxKeys int

	// Listen has notifications wake up the poll. It needs the trigger of WakeSQL, and a
	// connection that is not through pgbouncer in transaction mode.
	Listen bool

	// OnError is called with the error of each poll that failed. The next poll waits for it, so it
	// must be quick. It may be called concurrently, and may be nil.
	OnError func(err error)
}

const (
	defaultRetention = 10 * time.Minute
	minRetention     = 10 * time.Second
	defaultMaxKeys   = 100_000

	lastPause    = time.Second
	maxRest      = 20 * time.Millisecond // between polls, when notifications come
	checkTimeout = 10 * time.Second
)

// check returns what is wrong, and fills in the defaults.
func (o *ChangesOptions) check() (tables []table, err error) {
	tables, err = parse(o.Tables)
	switch {
	case o.Retention == 0:
		o.Retention = defaultRetention
	case o.Retention > 0 && o.Retention < minRetention:
		err = errors.Join(err, fmt.Errorf("near/postgres: Retention is %v: want at least %v, or less than 0 if the database removes old changes", o.Retention, minRetention))
	}
	switch {
	case o.MaxKeys == 0:
		o.MaxKeys = defaultMaxKeys
	case o.MaxKeys < 0:
		err = errors.Join(err, fmt.Errorf("near/postgres: MaxKeys is %d: want at least 1, or 0 for %d", o.MaxKeys, defaultMaxKeys))
	}
	return tables, err
}

// Changes is a near.Source that polls the table of changes which [SQL] makes. Its methods are
// safe for concurrent use. Watchers share one poll, and a connection of their own, so that
// they need not wait for those of the service.
type Changes struct {
	options ChangesOptions
	tables  []table
	db      *pgxpool.Pool // makes marks
	marks   near.Marks
	config  *pgxpool.Config
	hub     *near.Hub
	counts  counts
	told    atomic.Pointer[string] // the position in the log before which everything was told
}

// NewChanges returns a source of changes in the database of db, which it connects to as db does.
// It tries to, for ten seconds at most. An error says which option is wrong, or what the database
// lacks, and which statement to run.
func NewChanges(db *pgxpool.Pool, o ChangesOptions) (*Changes, error) {
	tables, err := o.check()
	if err != nil {
		return nil, err
	}
	c := &Changes{options: o, tables: tables, db: db, config: db.Config()}
	c.hub = near.NewHub(c.poll)
	c.config.MaxConns, c.config.MinConns, c.config.MinIdleConns = 1, 0, 0
	ctx, cancel := context.WithTimeoutCause(context.Background(), checkTimeout, fmt.Errorf("no answer for %v", checkTimeout))
	defer cancel()
	pool, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	if err := c.checkDatabase(ctx, pool); err != nil {
		return nil, err
	}
	return c, nil
}

// connect returns a pool for one connection.
func (c *Changes) connect(ctx context.Context) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, c.config.Copy())
	if err != nil {
		return nil, fmt.Errorf("near/postgres: %w", err)
	}
	return pool, nil
}

// Covers reports whether changes of a key are told: whether it looks like one of the Keys of the
// tables.
func (c *Changes) Covers(key string) bool { return covers(c.tables, key) }

// CoversPrefix reports whether a key with a prefix may be covered.
func (c *Changes) CoversPrefix(prefix string) bool { return coversPrefix(c.tables, prefix) }

// Watch tells w of changes until ctx ends.
func (c *Changes) Watch(ctx context.Context, w near.Watcher) { c.hub.Watch(ctx, w) }

// Replayed returns when a standby can show everything that was told before the call. A load that
// reads a standby calls it first, with the connection, transaction or pool that it then reads. A
// pool must be of one standby. An error is that of ctx or of the standby.
func (c *Changes) Replayed(ctx context.Context, standby Querier) error {
	position := c.told.Load()
	if position == nil {
		return nil // nothing was told, and nothing is kept
	}
	return replayed(ctx, standby, *position)
}

// poll tells the watchers of changes until ctx ends. When a poll fails nothing is lost: the next
// one goes on where the last one ended. Until then nothing is vouched for.
func (c *Changes) poll(ctx context.Context) {
	pool, err := c.connect(ctx)
	if err != nil {
		c.failed(err)
		return
	}
	defer pool.Close()
	wakes, listening := c.listen(ctx)
	defer listening()
	var last answer
	var pruned time.Time
	for pause := time.Duration(0); ctx.Err() == nil; {
		interval := c.hub.MaxLag() / 3
		asked := time.Now()
		a, err := c.ask(ctx, pool, last)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.failed(err)
			pause = min(max(2*pause, interval), max(lastPause, interval))
		default:
			c.tell(last, a, asked)
			last, pause = a, interval
		}
		if err == nil && c.options.Retention > 0 && time.Since(pruned) > c.options.Retention/10 {
			pruned = time.Now()
			c.prune(ctx, pool)
		}
		until(ctx, asked.Add(pause-rand.N(pause/8+1)), wakes)
		until(ctx, asked.Add(min(pause/20, maxRest)), nil) // notifications come in swarms
	}
}

// until waits until a moment, the end of ctx, or something in wakes.
func until(ctx context.Context, at time.Time, wakes <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-wakes:
	case <-time.After(time.Until(at)):
	}
}

// tell tells the watchers of an answer, to a question that was asked at a moment.
func (c *Changes) tell(last, a answer, asked time.Time) {
	c.heard(a)
	c.told.Store(&a.position)
	c.counts.polls.Add(1)
	c.counts.backlog.Store(a.backlog)
	forget := a.forget || last.snapshot == "" || a.server != last.server || len(a.keys) > c.options.MaxKeys
	c.hub.Tell(func(w near.Watcher) {
		if forget {
			w.ChangedAll()
		} else {
			w.Changed(a.keys...)
		}
		w.Current(asked)
	})
}

// ask polls. It waits for MaxLag at most, but not for less than a connection takes.
func (c *Changes) ask(ctx context.Context, pool *pgxpool.Pool, last answer) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.hub.MaxLag(), 250*time.Millisecond))
	defer cancel()
	a, err := ask(ctx, pool, last.snapshot, c.options.MaxKeys)
	if errors.Is(err, errNotStarted) {
		if _, err := pool.Exec(ctx, "SELECT pinwheel.start()"); err != nil {
			return answer{}, fmt.Errorf("near/postgres: naming this start of the server: %w", err)
		}
		a, err = ask(ctx, pool, last.snapshot, c.options.MaxKeys)
	}
	return a, err
}

// prune removes old changes.
func (c *Changes) prune(ctx context.Context, pool *pgxpool.Pool) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := pool.Exec(ctx, "SELECT pinwheel.prune(make_interval(secs => $1))", c.options.Retention.Seconds()); err != nil && ctx.Err() == nil {
		c.failed(fmt.Errorf("near/postgres: removing old changes: %w", err))
	}
}

func (c *Changes) failed(err error) {
	c.counts.failed.Add(1)
	if c.options.OnError != nil {
		c.options.OnError(err)
	}
}

// Report adds the polls, those that failed, and the backlog.
func (c *Changes) Report(n *stats.Near) {
	n.Polls = c.counts.polls.Load()
	n.SourceErrors = c.counts.failed.Load()
	n.Backlog = int(c.counts.backlog.Load())
}

// counts are for the statistics.
type counts struct {
	polls, failed atomic.Uint64
	backlog       atomic.Int64
}
