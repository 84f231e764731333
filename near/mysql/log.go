package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/rows"
	"github.com/pinwheel-cache/pinwheel/stats"
)

var (
	_ near.Source  = (*Log)(nil)
	_ near.Coverer = (*Log)(nil)

	_ near.PrefixCoverer = (*Log)(nil)
	_ near.Reporter      = (*Log)(nil)
)

// A Table says which keys of a cache change when a row of a table changes. A name without a schema
// is of the database of the DSN. The text of a value is what the server prints: "7", "1.50",
// "2026-11-24", "2026-11-24 01:02:03.000" with as many digits as the column has.
type Table = rows.Table

// LogOptions say what a [Log] reads. Tables must be set.
type LogOptions struct {
	// Tables are those whose rows are cached. Only their keys are kept in memory.
	Tables []Table

	// MaxKeys bounds how many keys of changes wait until they can be read, also those of one
	// transaction. If there are more, everything is forgotten. 0 means 100,000.
	MaxKeys int

	// AnyCollation allows Keys of texts that the server does not compare byte by byte. By most
	// collations a load for "Ann@x" reads the row of "ann@x", whose changes tell the key of "ann@x"
	// alone. So a load must return what it has read only if its text is the very one of the key.
	AnyCollation bool

	// UntestedMySQL allows servers that are not MariaDB. What differs for MySQL 8 was written by
	// its source and not run. proof/neartest says whether it holds for a server of yours.
	UntestedMySQL bool

	// OnError is called with the error that ended a connection, or kept one from being made. The
	// next one waits for it, so it must be quick. It may be nil.
	OnError func(err error)
}

const (
	defaultMaxKeys = 100_000
	checkTimeout   = 10 * time.Second
	lastPause      = time.Second           // between connections
	maxGatePause   = 20 * time.Millisecond // between questions whether a commit can be read
	maxName        = 64                    // characters of a name
)

// check returns what is wrong, and fills in the defaults.
func (o *LogOptions) check(schema string) (tables []rows.Checked, err error) {
	if schema == "" && slices.ContainsFunc(o.Tables, func(t Table) bool { return !strings.Contains(t.Name, ".") }) {
		return nil, errors.New("near/mysql: the DSN has no database, and a Table no schema: want root@tcp(host:3306)/shop, or Table{Name: \"shop.users\"}")
	}
	if tables, err = rows.Check(o.Tables, schema, checkName); err != nil {
		err = fmt.Errorf("near/mysql: %w", err)
	}
	switch {
	case o.MaxKeys == 0:
		o.MaxKeys = defaultMaxKeys
	case o.MaxKeys < 0:
		err = errors.Join(err, fmt.Errorf("near/mysql: MaxKeys is %d: want at least 1, or 0 for %d", o.MaxKeys, defaultMaxKeys))
	}
	return tables, err
}

func checkName(name string) error {
	if n := len([]rune(name)); n == 0 || n > maxName {
		return fmt.Errorf("the name %q has %d characters: want 1 to %d", name, n, maxName)
	}
	return nil
}

// Log is a near.Source that reads the binary log of a server. Its methods are safe for concurrent use.
// Watchers share two connections: one on which the log comes, and one on which it asks what can be
// read.
type Log struct {
	options LogOptions
	tables  []rows.Checked
	config  *mysql.Config
	hub     *near.Hub

	failures, questions atomic.Uint64
	backlog, roundTrip  atomic.Int64
}

// NewLog returns a source of the changes that the binary log of a server has. The DSN is as
// github.com/go-sql-driver/mysql has it. NewLog tries to connect for ten seconds at most. An error
// says which option is wrong, or what the server lacks, and which statement to run.
func NewLog(dsn string, o LogOptions) (*Log, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("near/mysql: %w", err)
	}
	if config.Net != "tcp" && config.Net != "unix" {
		return nil, fmt.Errorf("near/mysql: the DSN has an address of %q: want tcp or unix", config.Net)
	}
	tables, err := o.check(config.DBName)
	if err != nil {
		return nil, err
	}
	config.MultiStatements, config.InterpolateParams, config.Logger = true, true, &mysql.NopLogger{}
	if config.Timeout == 0 {
		config.Timeout = checkTimeout
	}
	l := &Log{options: o, tables: tables, config: config}
	l.hub = near.NewHub(l.run)
	ctx, cancel := context.WithTimeoutCause(context.Background(), checkTimeout, fmt.Errorf("no answer for %v", checkTimeout))
	defer cancel()
	s, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	s.close()
	return l, nil
}

// Covers reports whether changes of a key are told: whether it looks like one of the Keys of the
// tables.
func (l *Log) Covers(key string) bool {
	return slices.ContainsFunc(l.tables, func(t rows.Checked) bool { return t.Covers(key) })
}

// CoversPrefix reports whether a key with a prefix may be covered.
func (l *Log) CoversPrefix(prefix string) bool {
	return slices.ContainsFunc(l.tables, func(t rows.Checked) bool { return t.CoversPrefix(prefix) })
}

// Watch tells w of changes until ctx ends.
func (l *Log) Watch(ctx context.Context, w near.Watcher) { l.hub.Watch(ctx, w) }

// run reads the log until ctx ends, by one session after the other.
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
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(began.Add(pause))):
		}
	}
}

// session reads the log until a connection breaks.
func (l *Log) session(ctx context.Context) (vouched bool, err error) {
	starting, cancel := context.WithTimeoutCause(ctx, checkTimeout, fmt.Errorf("no answer for %v", checkTimeout))
	defer cancel()
	s, err := l.begin(starting)
	if err != nil {
		return false, err
	}
	defer s.close()
	defer func() { l.hub.Tell(func(w near.Watcher) { w.Lost(err) }) }()
	err = s.tell(ctx)
	return s.vouched, err
}

// connect returns a connection for questions, and whether it is encrypted.
func (l *Log) connect(ctx context.Context) (db *sql.DB, conn *sql.Conn, encrypted bool, err error) {
	connector, err := mysql.NewConnector(l.config)
	if err != nil {
		return nil, nil, false, fmt.Errorf("near/mysql: %w", err)
	}
	db = sql.OpenDB(connector)
	if conn, err = db.Conn(ctx); err != nil {
		db.Close()
		return nil, nil, false, fmt.Errorf("near/mysql: %w", err)
	}
	var ignored, cipher string
	_, err = conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION sql_mode = ''; SET SESSION sql_quote_show_create = 1")
	if err == nil {
		err = conn.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&ignored, &cipher)
	}
	if err != nil {
		conn.Close()
		db.Close()
		return nil, nil, false, fmt.Errorf("near/mysql: %w", err)
	}
	return db, conn, cipher != "", nil
}

// Report adds the questions, the failures, the changes that wait to be readable, and how long it took
// to vouch.
func (l *Log) Report(n *stats.Near) {
	n.Polls = l.questions.Load()
	n.SourceErrors = l.failures.Load()
	n.Backlog = int(l.backlog.Load())
	n.RoundTrip = time.Duration(l.roundTrip.Load())
}
