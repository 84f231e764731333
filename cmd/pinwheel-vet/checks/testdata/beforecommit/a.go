package beforecommit

import (
	"context"
	"database/sql"

	"github.com/pinwheel-cache/pinwheel/near"
)

func early(ctx context.Context, db *sql.DB, c *near.Cache[string, int]) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := c.Del(ctx, "a"); err != nil { // want `Del comes before Commit: what is loaded in between is the old row, and stays`
		return err
	}
	return tx.Commit()
}

func late(ctx context.Context, db *sql.DB, c *near.Cache[string, int]) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = c.Del(ctx, "a") }()
	if err := tx.Commit(); err != nil {
		return err
	}
	return c.Del(ctx, "a")
}

func otherWay(ctx context.Context, tx *sql.Tx, c *near.Cache[string, int], cached bool) error {
	if cached {
		return c.Del(ctx, "a")
	}
	return tx.Commit()
}

type unit interface {
	Commit(context.Context) error
	Rollback(context.Context) error
}

func others(ctx context.Context, u unit, c *near.Cache[string, int]) error {
	_ = c.Del(ctx, "a") // want `Del comes before Commit`
	if err := u.Commit(ctx); err != nil {
		return err
	}
	return nil
}
