package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// listen has polls begin as notifications come, until ctx ends. They only wake: it does not matter if one is lost.
func (c *Changes) listen(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		_ = c.hear(ctx, func() { pause = firstPause; c.pollSoon() })
		c.wait(ctx, pause, nil)
	}
}

// hear calls f for each notification, until its connection breaks.
func (c *Changes) hear(ctx context.Context, f func()) error {
	conn, err := pgx.ConnectConfig(ctx, c.o.Listen.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(ctx, "LISTEN pinwheel"); err != nil {
		return err
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		f()
	}
}

// checkListen returns an error unless notifications are sent and heard.
func (c *Changes) checkListen(ctx context.Context) error {
	var sent bool
	err := c.db.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('pinwheel.changes') AND tgname = 'pinwheel_wake')",
		pgx.QueryExecModeExec).Scan(&sent)
	if err != nil {
		return explain(err)
	}
	if !sent {
		return errors.New("near/postgres: Listen is set, and nobody notifies: run the migration of postgres.NotifySQL")
	}
	heard, end := make(chan struct{}, 1), make(chan error, 1)
	var hearing sync.WaitGroup
	defer hearing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hearing.Go(func() {
		end <- c.hear(ctx, func() {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
	})
	for { // the first ones may come before it listens
		if _, err := c.db.Exec(ctx, "SELECT pg_notify('pinwheel', '')", pgx.QueryExecModeExec); err != nil {
			return wrap(err)
		}
		select {
		case <-heard:
			return nil
		case err := <-end:
			return fmt.Errorf("near/postgres: Listen: %w", err)
		case <-time.After(firstPause):
		case <-ctx.Done():
			return fmt.Errorf("near/postgres: Listen hears nothing in %v: want a connection that does not lead through pgbouncer in the mode transaction", startTime)
		}
	}
}
