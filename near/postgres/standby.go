package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// AwaitReplay returns when a standby shows everything of which watchers were told so far: for loads that read a standby.
// They call it first, and then query by the same connection or transaction on. Else they may read, and memory would keep,
// what has been replaced. It asks once, and then again each few milliseconds until ctx ends. On a primary it returns at once.
//
// After a failover the standby must follow the new primary. On a quiet primary it may take seconds until a transaction that
// is still open is sent to the standby, and so what was committed beside it.
func (c *Changes) AwaitReplay(ctx context.Context, on interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) error {
	lsn := c.told.Load() // what is told later makes the load one that is not kept
	if lsn == nil {
		return nil
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		var shows bool
		err := on.QueryRow(ctx, "SELECT NOT pg_is_in_recovery() OR coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)",
			pgx.QueryExecModeExec, *lsn).Scan(&shows)
		if err != nil || shows {
			return wrap(err)
		}
		c.wait(ctx, pause, nil)
		if ctx.Err() != nil {
			return wrap(context.Cause(ctx))
		}
	}
}
