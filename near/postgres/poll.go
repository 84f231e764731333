package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Querier reads from a database: a pool of pgx, a connection, or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// An answer is what one poll has read, in one snapshot.
type answer struct {
	snapshot string
	server   string // another one after a crash, a failover or a restore
	position string // of the log: all that was read is before it
	backlog  int64  // transactions that began since the oldest one that is still open
	forget   bool   // changes may be missing, or everything has changed
	keys     []string
}

// serverSQL is which server it is, on which timeline, and the name of its start.
const serverSQL = `(SELECT system_identifier FROM pg_control_system()) || ' ' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
	(SELECT id::text FROM pinwheel.boot)`

// pollSQL returns a query that reads what the snapshot $1 does not show and this one does: of transactions that began
// since, which $1 has below none, and of those that were open then. Rows in marks say that
// changes of all transactions from their least horizon on are there.
func pollSQL() string {
	return `SELECT
	pg_current_snapshot()::text,
	` + serverSQL + `,
	pg_current_wal_insert_lsn()::text,
	pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
	(SELECT min(horizon) FROM pinwheel.marks) <= pg_snapshot_xmin($1::text::pg_snapshot),
	ARRAY(SELECT key FROM (
		(SELECT keys FROM pinwheel.changes WHERE xid >= pg_snapshot_xmax($1::text::pg_snapshot) ORDER BY xid LIMIT $2)
		UNION ALL
		(SELECT keys FROM pinwheel.changes WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::text::pg_snapshot))) LIMIT $2)
	) AS new, unnest(keys) AS key)`
}

// errNotStarted means that nobody has named this start of the server yet.
var errNotStarted = errors.New("near/postgres: the server has no name")

// ask polls for what has changed since a snapshot, which is empty before the first poll. It
// reads a few more keys than most, to tell that there are more.
func ask(ctx context.Context, db Querier, since string, most int) (answer, error) {
	var a answer
	var last, boot *string
	if since != "" {
		last = &since
	}
	var kept *bool
	var keys []*string
	if err := db.QueryRow(ctx, pollSQL(), last, most+1).Scan(&a.snapshot, &a.server, &boot, &a.position, &a.backlog, &kept, &keys); err != nil {
		return answer{}, fmt.Errorf("near/postgres: polling: %w", err)
	}
	if boot == nil {
		return answer{}, errNotStarted
	}
	a.server += " " + *boot
	a.forget = kept == nil || !*kept
	a.keys = make([]string, 0, len(keys))
	for _, key := range keys {
		if key == nil {
			a.forget = true
		} else {
			a.keys = append(a.keys, *key)
		}
	}
	return a, nil
}

// replayed waits until a standby has replayed the log up to a position.
func replayed(ctx context.Context, standby Querier, position string) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		var is bool
		err := standby.QueryRow(ctx, "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() >= $1::text::pg_lsn ELSE true END", position).Scan(&is)
		switch {
		case err != nil:
			return fmt.Errorf("near/postgres: asking a standby how far it is: %w", err)
		case is:
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
