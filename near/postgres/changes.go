package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
)

var (
	_ near.Source  = (*Changes)(nil)
	_ near.Coverer = (*Changes)(nil)
)

// A Changes is a near.Source: it tells of the changes of rows. Its methods are safe for concurrent use. It needs no
// Close: it does something only while somebody watches.
type Changes struct {
	db   *pgxpool.Pool
	o    ChangesOptions
	keys []key // of all tables

	told atomic.Pointer[string] // what a standby must have replayed; nil: nothing was told

	mu    sync.Mutex // guards what follows, and is held while watchers are told
	seats []*seat
	end   context.CancelFunc // ends the loop; nil: it does not run
	ended chan struct{}      // closed when it has
	wake  chan struct{}      // has something when a poll should begin at once
}

// ChangesOptions says what a [Changes] tells of.
type ChangesOptions struct {
	// Tables are those of which [SQL] made a migration. There may be others in the database.
	Tables []Table

	// Listen is for a connection of its own that listens to notifications, such as the ConnConfig of the pool: a change
	// is told soon after its commit, and not with the next poll. It needs the migration of [NotifySQL], and must not
	// lead through pgbouncer in the mode "transaction". nil means none.
	Listen *pgx.ConnConfig

	// Keep is for how long changes stay in the table of changes; 0 means ten minutes. An instance that could not ask
	// the database for longer forgets all. With several instances the shortest counts.
	Keep time.Duration

	// Relay tells relays apart (package relay) of several databases over one store, whose rounds fail otherwise, or of
	// one database over several stores, of which only one has a relay otherwise.
	Relay string

	// Logger gets that the table of changes cannot be trimmed; nil means slog.Default(). What else goes wrong the caches
	// log.
	Logger *slog.Logger
}

const (
	defaultKeep  = 10 * time.Minute
	shortestKeep = time.Minute
	startTime    = 10 * time.Second // of the checks in NewChanges
	trimTime     = time.Minute
	mostRows     = 20_000                // that a poll reads; after more, such as a bulk load, all is forgotten
	shortestPoll = 5 * time.Millisecond  // between two polls
	checkEvery   = time.Minute           // that triggers are there
	pollTime     = 2 * time.Second       // after which a poll has failed
	firstPause   = 20 * time.Millisecond // after a failure; then pauses double
	longestPause = 500 * time.Millisecond
)

// NewChanges returns a source of the changes that the triggers of [SQL] write. It asks the database whether they are
// there, for two seconds at most, and for ten with Listen; the error says what is missing, and what to run. It wraps
// cache.ErrArgument if the options are wrong. While somebody watches it keeps a connection of the pool, and polls four
// times in the shortest MaxLag of those who do. Close the caches before the pool.
//
// The pool must lead to the primary, also after a failover, as by target_session_attrs=read-write: what a standby says
// does not count. It may lead through pgbouncer, in the mode session or transaction.
func NewChanges(db *pgxpool.Pool, o ChangesOptions) (*Changes, error) {
	if o.Keep == 0 {
		o.Keep = defaultKeep
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	err := checkTables(o.Tables)
	if db == nil {
		err = errors.Join(err, errors.New("the pool is nil: want one of pgxpool.New"))
	} else if n := db.Config().MaxConns; n < 2 {
		err = errors.Join(err, fmt.Errorf("MaxConns of the pool is %d: want at least 2, one of which watches", n))
	}
	if o.Keep < shortestKeep {
		err = errors.Join(err, errors.New("Keep is "+o.Keep.String()+": want at least a minute, or 0 for ten"))
	}
	if err != nil {
		return nil, argumentError{err}
	}
	c := &Changes{db: db, o: o, wake: make(chan struct{}, 1)}
	for _, t := range o.Tables {
		keys, _ := t.keys()
		c.keys = append(c.keys, keys...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	r := reader{c: c}
	defer r.close()
	if _, err := r.next(ctx); err != nil {
		return nil, err
	}
	if o.Listen != nil {
		if err := c.checkListen(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Covers reports whether changes of a key are told: whether it begins as one of Table.Keys does. Keys of other kinds
// must begin in another way.
func (c *Changes) Covers(text string) bool {
	return slices.ContainsFunc(c.keys, func(k key) bool { return k.matches(text) })
}

// Watch tells w of changes until ctx ends.
func (c *Changes) Watch(ctx context.Context, w near.Watcher) {
	s := &seat{Watcher: w, maxLag: near.MaxLag(w)}
	c.join(s)
	<-ctx.Done()
	c.leave(s)
}

// A seat is a watcher in its place.
type seat struct {
	near.Watcher
	maxLag time.Duration
	joined time.Time
	asOf   time.Time // of its last Current; zero before the first, and after Lost
	lost   bool
}

func (c *Changes) join(s *seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.joined = time.Now()
	c.seats = append(c.seats, s)
	if c.end == nil {
		var ctx context.Context
		ctx, c.end = context.WithCancel(context.Background())
		c.ended = make(chan struct{})
		go c.run(ctx, c.ended)
	}
	c.pollSoon()
}

// leave returns when s is told nothing any more. The last one waits for the end of the loop.
func (c *Changes) leave(s *seat) {
	c.mu.Lock()
	c.seats = slices.DeleteFunc(c.seats, func(other *seat) bool { return other == s })
	ended := c.ended
	last := len(c.seats) == 0 && c.end != nil
	if last {
		c.end()
		c.end = nil
	}
	c.mu.Unlock()
	if last {
		<-ended
	}
}

// pollSoon has a poll begin, after the one under way.
func (c *Changes) pollSoon() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run polls until ctx ends.
func (c *Changes) run(ctx context.Context, ended chan struct{}) {
	defer close(ended)
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { c.trim(ctx) })
	if c.o.Listen != nil {
		beside.Go(func() { c.listen(ctx) })
	}
	r := reader{c: c}
	defer r.close()
	for pause := firstPause; ctx.Err() == nil; {
		asOf := time.Now()
		b, err := r.next(ctx)
		if ctx.Err() != nil {
			return
		}
		every := c.tell(asOf, b, err)
		if err != nil {
			c.wait(ctx, pause, nil)
			pause = min(2*pause, longestPause)
			continue
		}
		pause = firstPause
		c.wait(ctx, shortestPoll, nil)
		c.wait(ctx, every-time.Since(asOf), c.wake)
	}
}

// trim removes changes that nobody needs any more, now and then. If it fails they stay.
func (c *Changes) trim(ctx context.Context) {
	for ctx.Err() == nil {
		c.wait(ctx, c.o.Keep/10+rand.N(c.o.Keep/10), nil)
		within, cancel := context.WithTimeout(ctx, trimTime)
		_, err := c.db.Exec(within, "SELECT pinwheel.trim($1::bigint * interval '1 millisecond')", pgx.QueryExecModeExec, c.o.Keep.Milliseconds())
		cancel()
		if err != nil && ctx.Err() == nil {
			c.o.Logger.Warn("near/postgres: what is older than Keep stays in the table of changes", "err", err)
		}
	}
}

// tell tells all seats of a poll that began at asOf. It returns when the next one is due.
func (c *Changes) tell(asOf time.Time, b batch, err error) (every time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && (b.all || len(b.keys)+len(b.prefixes) > 0) {
		c.told.Store(&b.lsn)
	}
	keys := c.covered(b.keys)
	every = time.Hour
	for _, s := range c.seats {
		every = min(every, s.maxLag/4)
		if !s.joined.After(asOf) {
			s.tell(asOf, b, keys, err)
		}
	}
	return every
}

// covered returns those of the keys that are of the tables of the options.
func (c *Changes) covered(keys []string) []string {
	return slices.DeleteFunc(keys, func(text string) bool {
		return !slices.ContainsFunc(c.keys, func(k key) bool { return k.writes(text) })
	})
}

func (s *seat) tell(asOf time.Time, b batch, keys []string, err error) {
	if err != nil {
		// The next poll that succeeds has all changes since the last, so nothing is lost but time: memory is not served.
		if !s.lost && time.Since(s.asOf) > s.maxLag {
			s.lost, s.asOf = true, time.Time{}
			s.Lost(err)
		}
		return
	}
	if b.all || s.asOf.IsZero() {
		s.ChangedAll()
	} else {
		if len(keys) > 0 {
			s.Changed(keys...)
		}
		if len(b.prefixes) > 0 {
			near.ChangedIf(s.Watcher, b.truncated)
		}
	}
	s.lost, s.asOf = false, asOf
	s.Current(asOf)
}

// truncated reports whether a key is one of those that have changed with a whole table.
func (b batch) truncated(text string) bool {
	return slices.ContainsFunc(b.prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

func (c *Changes) wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	due := time.NewTimer(d)
	defer due.Stop()
	select {
	case <-due.C:
	case <-wake:
	case <-ctx.Done():
	}
}
