package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// listen returns a channel that has something when a transaction with changes has committed, and
// a function that ends the connection. Without Listen nothing comes. Notifications only save
// time: nobody relies on them.
func (c *Changes) listen(ctx context.Context) (wakes <-chan struct{}, end func()) {
	if !c.options.Listen {
		return nil, func() {}
	}
	woken := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		for ctx.Err() == nil {
			if err := c.hear(ctx, woken); ctx.Err() == nil {
				c.failed(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(lastPause):
			}
		}
	})
	return woken, func() { stop(); listening.Wait() }
}

// hear listens until the connection breaks.
func (c *Changes) hear(ctx context.Context, woken chan<- struct{}) error {
	pool, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, "LISTEN pinwheel", pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("near/postgres: listening: %w", err)
		}
		for {
			if _, err := conn.Conn().WaitForNotification(ctx); err != nil {
				return fmt.Errorf("near/postgres: waiting for a notification: %w", err)
			}
			select {
			case woken <- struct{}{}:
			default:
			}
		}
	})
}
