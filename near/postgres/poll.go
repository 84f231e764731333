package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A position says up to where the changes were read: in which life of the database, and what could be seen then. The
// zero position is before the first.
//
// A poll reads, in one statement and so in one snapshot, what has become visible since the snapshot of its position: rows
// of transactions that were open in it, or have begun after it. So it loses none, whenever it commits; reads none twice;
// tells none before it can be read; and takes no longer if a transaction stays open. A new life means that commits may
// have been lost: after a crash (which empties a table that is not logged), a failover, a backup.
type position struct {
	life     string
	snapshot string // as text: xmin:xmax:open,open
}

// A batch is what a poll has read.
type batch struct {
	at       position
	lsn      string   // what a standby must have replayed to show all of it
	amount   int64    // of rows
	all      bool     // any key may have changed
	keys     []string // that have changed
	prefixes []string // of keys, all of which have
}

// A reader polls over one connection, which it keeps: if it had to wait for one while loads have them all, nothing
// would be vouched for, and there would be more loads.
type reader struct {
	c       *Changes
	conn    *pgxpool.Conn
	at      position
	checked time.Time
}

// next polls, and now and then checks that the triggers are there. After an error the next poll has it all.
func (r *reader) next(ctx context.Context) (b batch, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	if r.conn == nil {
		if r.conn, err = r.c.db.Acquire(ctx); err != nil {
			return batch{}, explain(err)
		}
	}
	b, err = begun(ctx, r.conn, func() (batch, error) { return poll(ctx, r.conn, r.at) })
	if err == nil && (b.all || time.Since(r.checked) > checkEvery) {
		if err = r.c.check(ctx, r.conn); err == nil {
			r.checked = time.Now()
		}
	}
	if err != nil {
		r.close()
		return batch{}, explain(err)
	}
	r.at = b.at
	return b, nil
}

// close ends the connection: the next one may lead elsewhere.
func (r *reader) close() {
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), firstPause)
		defer cancel()
		_ = r.conn.Conn().Close(ctx)
		r.conn.Release()
		r.conn = nil
	}
}

// begun polls, and again after it has had db begin a new life, if the database may have none: it has lost that, or another
// server has left it there.
func begun(ctx context.Context, db querier, poll func() (batch, error)) (batch, error) {
	b, err := poll()
	if b.all && b.amount <= mostRows || errors.Is(err, errNoLife) {
		if _, err = db.Exec(ctx, "SELECT pinwheel.begin()", pgx.QueryExecModeExec); err == nil {
			b, err = poll()
		}
	}
	return b, err
}

// querier is a connection, a pool or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

var (
	errNoLife  = errors.New("near/postgres: the database was restored or has crashed")
	errStandby = errors.New("near/postgres: the pool leads to a standby: want the primary, as by target_session_attrs=read-write")
)

// poll reads what has changed since a position.
func poll(ctx context.Context, db querier, since position) (b batch, err error) {
	var seen *string
	if since.snapshot != "" {
		seen = &since.snapshot
	}
	var snapshot, life, low, lsn *string
	var amount *int64
	// QueryExecModeExec prepares nothing that another connection of pgbouncer might lack.
	err = db.QueryRow(ctx, "SELECT snapshot, life, low, lsn, keys, prefixes, amount FROM pinwheel.poll($1::text::pg_snapshot, $2::bigint)",
		pgx.QueryExecModeExec, seen, int64(mostRows)).Scan(&snapshot, &life, &low, &lsn, &b.keys, &b.prefixes, &amount)
	switch {
	case err != nil:
		return batch{}, err
	case snapshot == nil:
		return batch{}, errStandby
	case life == nil || low == nil:
		return batch{}, errNoLife
	}
	b.at, b.lsn = position{*life, *snapshot}, *lsn
	missed, err := since.missed(b.at, *low)
	b.amount, b.all = *amount, missed || *amount > mostRows
	return b, err
}

// missed reports whether a poll that has come to a position may lack changes since p: there was none before it, the
// database has another life, or rows that were needed are removed, which are those below low.
func (p position) missed(now position, low string) (bool, error) {
	lowest, err := strconv.ParseUint(low, 10, 64)
	newMin, newMax, err2 := bounds(now.snapshot)
	if err := errors.Join(err, err2); err != nil {
		return false, err
	}
	if p.life != now.life {
		return true, nil
	}
	oldMin, oldMax, err := bounds(p.snapshot)
	return oldMin < lowest || newMax < oldMax || newMin < oldMin, err
}

// bounds returns xmin and xmax of a snapshot.
func bounds(snapshot string) (xmin, xmax uint64, err error) {
	texts := strings.SplitN(snapshot, ":", 3)
	if len(texts) < 3 {
		return 0, 0, fmt.Errorf("near/postgres: %q is no snapshot", snapshot)
	}
	xmin, err = strconv.ParseUint(texts[0], 10, 64)
	xmax, err2 := strconv.ParseUint(texts[1], 10, 64)
	return xmin, xmax, errors.Join(err, err2)
}
