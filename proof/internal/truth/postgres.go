package truth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
)

// Postgres has its rows in PostgreSQL.
type Postgres struct {
	Readers func(ctx context.Context, row int) (int, error)
	DB      *pgxpool.Pool
	Table   string
	Open    time.Duration // how long some transactions stay open, at most
}

// PostgresSQL returns statements that make the table.
func PostgresSQL(table string) string {
	return fmt.Sprintf(`CREATE TABLE %s (id int PRIMARY KEY, version int NOT NULL);
		INSERT INTO %[1]s SELECT n, 0 FROM generate_series(0, %d) n;`, table, neartest.Rows-1)
}

// PostgresKeys says which keys the rows of a table have.
func PostgresKeys(table string) postgres.Table {
	return postgres.Table{Name: table, Keys: []string{Prefix + "{id}"}}
}

// NewPostgres returns rows of a table that is there.
func NewPostgres(db *pgxpool.Pool, table string) *Postgres {
	tr := &Postgres{DB: db, Table: table, Open: time.Second}
	tr.Readers = func(ctx context.Context, row int) (int, error) { return tr.Version(ctx, db, row) }
	return tr
}

// Version reads a row from a server.
func (tr *Postgres) Version(ctx context.Context, db postgres.Querier, row int) (version int, err error) {
	err = db.QueryRow(ctx, "SELECT version FROM "+tr.Table+" WHERE id = $1", row).Scan(&version)
	return version, err
}

// Read reads a row as loads do.
func (tr *Postgres) Read(ctx context.Context, row int) (int, error) { return tr.Readers(ctx, row) }

// Write writes as services and people do: by one statement, in a transaction that stays open or is
// undone before it is done again, with savepoints, by two-phase commit, or by removing the row.
func (tr *Postgres) Write(ctx context.Context, row, version int) error {
	update := fmt.Sprintf("UPDATE %s SET version = %d WHERE id = %d AND version < %[2]d", tr.Table, version, row)
	switch n := rand.N(40); {
	case n < 5:
		return tr.in(ctx, func(tx pgx.Tx) error { return tr.slowly(ctx, tx, update) })
	case n < 7:
		undone := errors.New("undone")
		if err := tr.in(ctx, func(tx pgx.Tx) error { return errors.Join(tr.slowly(ctx, tx, update), undone) }); !errors.Is(err, undone) {
			return err
		}
	case n < 9:
		return tr.in(ctx, func(tx pgx.Tx) error {
			return pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { return tr.slowly(ctx, inner, update) })
		})
	case n < 11:
		return tr.in(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE id = %d; INSERT INTO %[1]s VALUES (%[2]d, %d)", tr.Table, row, version), pgx.QueryExecModeSimpleProtocol)
			return err
		})
	case n < 13:
		return tr.twoPhases(ctx, update, fmt.Sprintf("%s_%d_%d", tr.Table, row, version))
	}
	_, err := tr.DB.Exec(ctx, update)
	return err
}

func (tr *Postgres) in(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, tr.DB, f)
}

// slowly leaves the transaction open for a while.
func (tr *Postgres) slowly(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Exec(ctx, sql)
	stayOpen(ctx, tr.Open)
	return err
}

// twoPhases does not leave a prepared transaction behind, which would lock its row for ever. If
// its connection breaks, the server may prepare it a moment later.
func (tr *Postgres) twoPhases(ctx context.Context, sql, name string) error {
	began := time.Now()
	_, err := tr.DB.Exec(context.WithoutCancel(ctx), fmt.Sprintf("BEGIN; %s; PREPARE TRANSACTION '%s'", sql, name), pgx.QueryExecModeSimpleProtocol)
	var disabled *pgconn.PgError
	if errors.As(err, &disabled) && disabled.Code == "55000" { // max_prepared_transactions is 0
		return err
	}
	if err == nil {
		time.Sleep(rand.N(tr.Open / 5))
	}
	for {
		_, commit := tr.DB.Exec(context.WithoutCancel(ctx), "COMMIT PREPARED '"+name+"'")
		var refused *pgconn.PgError
		switch {
		case commit == nil:
			return nil
		case errors.As(commit, &refused) && refused.Code == "42704": // there is none
			if err == nil || time.Since(began) > 2*time.Second {
				return errors.Join(err, commit)
			}
		case ctx.Err() != nil:
			return commit
		}
		time.Sleep(10 * time.Millisecond)
	}
}
