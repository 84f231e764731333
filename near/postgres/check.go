package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// argumentError is an error of what the program has given.
type argumentError struct{ error }

func (e argumentError) Error() string {
	return "near/postgres: " + strings.ReplaceAll(e.error.Error(), "\n", "; ")
}

func (e argumentError) Is(target error) bool { return target == cache.ErrArgument }

// ErrNotInstalled is wrapped by errors that mean that the migration of [SQL] is missing, in all or for some tables.
var ErrNotInstalled = errors.New("near/postgres: run the migration of postgres.SQL")

// check returns an error unless each table has its triggers, with the keys of the options.
func (c *Changes) check(ctx context.Context, db querier) error {
	var readOnly bool
	var isolation string
	err := db.QueryRow(ctx, "SELECT current_setting('default_transaction_read_only')::bool, current_setting('default_transaction_isolation')", pgx.QueryExecModeExec).Scan(&readOnly, &isolation)
	if err != nil {
		return err
	}
	if readOnly || isolation == "serializable" {
		return fmt.Errorf("near/postgres: the transactions of this role are %s, read only: %t; want ALTER ROLE … SET default_transaction_read_only = off, "+
			"and SET default_transaction_isolation = 'read committed', or a pool whose RuntimeParams have these", isolation, readOnly)
	}
	for _, t := range c.o.Tables {
		var oid *uint32
		var triggers int
		var note *string
		err := db.QueryRow(ctx, `SELECT to_regclass($1::text)::oid,
			(SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass($1::text) AND tgname IN ('pinwheel_changed', 'pinwheel_truncated') AND tgenabled = 'A'),
			(SELECT obj_description(tgfoid, 'pg_proc') FROM pg_trigger WHERE tgrelid = to_regclass($1::text) AND tgname = 'pinwheel_changed')`,
			pgx.QueryExecModeExec, t.identifier()).Scan(&oid, &triggers, &note)
		switch {
		case err != nil:
			return err
		case oid == nil:
			return fmt.Errorf("near/postgres: there is no table %q for this role: want its name as the catalog has it, with its schema or in the search_path", t.Name)
		case triggers < 2 || note == nil:
			return fmt.Errorf("%w for the table %q: it has no triggers, or disabled ones", ErrNotInstalled, t.Name)
		case !t.isIn(*note):
			return fmt.Errorf("%w for the table %q: its triggers write the keys %s, want %s", ErrNotInstalled, t.Name, *note, t.note())
		}
	}
	return nil
}

// explain says what to do about an error of the server.
func explain(err error) error {
	var of *pgconn.PgError
	if !errors.As(err, &of) {
		return wrap(err)
	}
	switch {
	case of.Code == "3F000", of.Code == "42883", of.Code == "42P01": // no such schema, function, table
		return fmt.Errorf("%w, as its owner: %w", ErrNotInstalled, err)
	case of.Code == "42501" && strings.Contains(of.Message, "pinwheel"):
		return fmt.Errorf("near/postgres: want GRANT USAGE ON SCHEMA pinwheel TO the role of the pool: %w", err)
	}
	return wrap(err)
}

func wrap(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "near/postgres: ") {
		return err
	}
	return fmt.Errorf("near/postgres: %w", err)
}
