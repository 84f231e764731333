package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

var (
	_ near.Source  = (*Log)(nil)
	_ near.Coverer = (*Log)(nil)

	_ near.PrefixCoverer = (*Log)(nil)
	_ near.Reporter      = (*Log)(nil)
)

// LogOptions say what a [Log] reads. Tables must be set.
type LogOptions struct {
	// Tables are those of the publication, or some of them. Only their keys are kept in memory.
	Tables []Table

	// Publication is the name of the publication that LogSQL makes. Empty means "pinwheel".
	Publication string

	// MaxKeys bounds how many keys of changes wait until they can be read, also those of one
	// transaction. If there are more, everything is forgotten. 0 means 100,000.
	MaxKeys int

	// OnError is called with the error that ended a connection, or kept one from being made. The
	// next one waits for it, so it must be quick. It may be nil.
	OnError func(err error)
}

const (
	defaultPublication = "pinwheel"

	slotTimeout  = time.Minute           // a slot waits for transactions that are open
	maxGatePause = 20 * time.Millisecond // between questions whether a commit can be read
)

// check returns what is wrong, and fills in the defaults.
func (o *LogOptions) check() (tables []table, err error) {
	tables, err = parse(o.Tables)
	if o.Publication == "" {
		o.Publication = defaultPublication
	}
	if wrong := checkName(o.Publication); wrong != nil {
		err = errors.Join(err, fmt.Errorf("near/postgres: Publication: %w", wrong))
	}
	switch {
	case o.MaxKeys == 0:
		o.MaxKeys = defaultMaxKeys
	case o.MaxKeys < 0:
		err = errors.Join(err, fmt.Errorf("near/postgres: MaxKeys is %d: want at least 1, or 0 for %d", o.MaxKeys, defaultMaxKeys))
	}
	return tables, err
}

// Log is a near.Source that reads the log of a database by logical replication. Its methods are
// safe for concurrent use. Watchers share one temporary replication slot, and a connection on
// which it asks what can be read.
type Log struct {
	options LogOptions
	tables  []table
	config  *pgx.ConnConfig
	hub     *near.Hub
	told    atomic.Pointer[string] // the position in the log before which everything was told

	failures, questions atomic.Uint64
	backlog, roundTrip  atomic.Int64
}

// NewLog returns a source of the changes that the log of a database has. It tries to connect for
// ten seconds at most. An error says which option is wrong, or what the database lacks, and which
// statement to run.
func NewLog(connString string, o LogOptions) (*Log, error) {
	tables, err := o.check()
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(connString)
	if err != nil {
		return nil, fmt.Errorf("near/postgres: %w", err)
	}
	l := &Log{options: o, tables: tables, config: config.ConnConfig}
	l.hub = near.NewHub(l.run)
	ctx, cancel := context.WithTimeoutCause(context.Background(), checkTimeout, fmt.Errorf("no answer for %v", checkTimeout))
	defer cancel()
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := l.checkDatabase(ctx, conn); err != nil {
		return nil, err
	}
	replication, err := l.replication(ctx, conn)
	if err != nil {
		return nil, err
	}
	replication.Close(context.WithoutCancel(ctx))
	return l, nil
}

// connect returns the connection for questions.
func (l *Log) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, l.config.Copy())
	if err != nil {
		return nil, fmt.Errorf("near/postgres: %w", err)
	}
	return conn, nil
}

// Covers reports whether changes of a key are told: whether it looks like one of the Keys of the
// tables.
func (l *Log) Covers(key string) bool { return covers(l.tables, key) }

// CoversPrefix reports whether a key with a prefix may be covered.
func (l *Log) CoversPrefix(prefix string) bool { return coversPrefix(l.tables, prefix) }

// Watch tells w of changes until ctx ends.
func (l *Log) Watch(ctx context.Context, w near.Watcher) { l.hub.Watch(ctx, w) }

// Replayed is as [Changes.Replayed].
func (l *Log) Replayed(ctx context.Context, standby Querier) error {
	position := l.told.Load()
	if position == nil {
		return nil // nothing was told, and nothing is kept
	}
	return replayed(ctx, standby, *position)
}

// run reads the log until ctx ends, by one connection after the other.
func (l *Log) run(ctx context.Context) {
	for pause := time.Duration(0); ctx.Err() == nil; {
		began := time.Now()
		vouched, err := l.session(ctx)
		if ctx.Err() != nil {
			return
		}
		l.failures.Add(1)
		if l.options.OnError != nil {
			l.options.OnError(err)
		}
		interval := l.hub.MaxLag() / 3
		if pause = min(max(2*pause, interval/4), lastPause); vouched {
			pause = interval / 4
		}
		until(ctx, began.Add(pause), nil)
	}
}

// session reads the log until a connection breaks. What changes from the slot on is in the stream.
func (l *Log) session(ctx context.Context) (vouched bool, err error) {
	starting, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	conn, err := l.connect(starting)
	if err != nil {
		return false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	catalog, err := l.checkDatabase(starting, conn)
	if err != nil {
		return false, err
	}
	stream, err := l.stream(starting, conn)
	if err != nil {
		return false, err
	}
	s := &session{log: l, conn: conn, stream: stream, catalog: catalog.fingerprint, gate: newGate(l.options.MaxKeys)}
	defer func() { l.hub.Tell(func(w near.Watcher) { w.Lost(err) }) }()
	reading := make(chan error, 1)
	reader := catalog.reader()
	go func() { reading <- stream.read(reader, s.gate) }()
	defer func() { stream.close(); <-reading }()
	err = s.tell(ctx, reading)
	return s.vouched, err
}

// Report adds the questions, the failures, the backlog, and how long it took to vouch.
func (l *Log) Report(n *stats.Near) {
	n.Polls = l.questions.Load()
	n.SourceErrors = l.failures.Load()
	n.Backlog = int(l.backlog.Load())
	n.RoundTrip = time.Duration(l.roundTrip.Load())
}
