package relay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
)

// An AdvisoryLock is a [Lock] in PostgreSQL, on a session of its own: when the process or its connection
// ends, another relay gets it. The session must not go through pgbouncer in transaction mode.
type AdvisoryLock struct {
	config *pgx.ConnConfig
	key    int64
}

// lockEvery is how often a relay tries to get the lock, and looks whether it still holds it.
const lockEvery = 500 * time.Millisecond

// NewAdvisoryLock returns the lock with a name, which is that of the relay, in the database of a connection
// string.
func NewAdvisoryLock(connString, name string) (*AdvisoryLock, error) {
	config, err := pgx.ParseConfig(connString)
	if err != nil {
		return nil, fmt.Errorf("near/relay: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * lockEvery
	}
	// So that the server finds out soon when the machine of a relay is gone.
	for param, value := range map[string]string{"application_name": "pinwheel relay", "tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"} {
		if config.RuntimeParams[param] == "" {
			config.RuntimeParams[param] = value
		}
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("pinwheel relay " + name))
	return &AdvisoryLock{config, int64(sum.Sum64())}, nil
}

// Hold waits for the lock.
func (a *AdvisoryLock) Hold(ctx context.Context, during func(ctx context.Context) error) error {
	conn, err := pgx.ConnectConfig(ctx, a.config)
	if err != nil {
		return fmt.Errorf("near/relay: connecting for the lock: %w", err)
	}
	defer hangUp(conn)
	for {
		got, err := ask(ctx, conn, "SELECT pg_try_advisory_lock($1)", a.key)
		if err != nil {
			return err
		}
		if got {
			break
		}
		sleep(ctx, lockEvery)
	}
	ctx, end := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		err := during(ctx)
		end(err)
		ended <- err
	}()
	end(a.keep(ctx, conn))
	return errors.Join(context.Cause(ctx), <-ended)
}

// heldSQL asks whether this session has the lock, which a session behind a pooler may not.
const heldSQL = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
	AND (classid::bigint << 32 | objid::bigint) = $1 AND objsubid = 1)`

var errLockLost = errors.New("near/relay: the session does not hold the lock: want a connection that is not through pgbouncer in transaction mode")

// keep looks again and again whether the lock is held, until it is not.
func (a *AdvisoryLock) keep(ctx context.Context, conn *pgx.Conn) error {
	for {
		held, err := ask(ctx, conn, heldSQL, a.key)
		if err != nil {
			return err
		}
		if !held {
			return errLockLost
		}
		sleep(ctx, lockEvery)
	}
}

// ask asks a question to be answered by yes or no.
func ask(ctx context.Context, conn *pgx.Conn, sql string, key int64) (yes bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*lockEvery, errors.New("no answer"))
	defer cancel()
	if err := conn.QueryRow(ctx, sql, key).Scan(&yes); err != nil {
		return false, fmt.Errorf("near/relay: asking for the lock: %w", errors.Join(context.Cause(ctx), err))
	}
	return yes, nil
}

// hangUp ends the session, and with it the lock.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), lockEvery)
	defer cancel()
	_ = conn.Close(ctx)
}
