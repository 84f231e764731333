package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// minVersion is that of the first PostgreSQL with transaction ids of 64 bits.
const minVersion = 130000

// checkServer returns an error if a server is too old, or a standby.
func checkServer(ctx context.Context, db Querier) error {
	var version int
	var standby bool
	if err := db.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, pg_is_in_recovery()").Scan(&version, &standby); err != nil {
		return fmt.Errorf("near/postgres: %w", err)
	}
	switch {
	case version < minVersion:
		return fmt.Errorf("near/postgres: the server is PostgreSQL %d: want 13 or newer", version/10000)
	case standby:
		return errors.New("near/postgres: the server is a standby, which may be older than what others read: want the primary (target_session_attrs=read-write)")
	}
	return nil
}

// checkDatabase returns an error if the database cannot be polled: each poll would fail, or
// changes would go untold.
func (c *Changes) checkDatabase(ctx context.Context, db Querier) error {
	if err := checkServer(ctx, db); err != nil {
		return err
	}
	const hint = "want an administrator to run what postgres.SQL returns for these tables"
	var user string
	var there, usage, reads bool
	err := db.QueryRow(ctx, `SELECT current_user, to_regnamespace('pinwheel') IS NOT NULL,
		coalesce(has_schema_privilege(to_regnamespace('pinwheel'), 'USAGE'), false)`).Scan(&user, &there, &usage)
	switch {
	case err != nil:
		return fmt.Errorf("near/postgres: %w", err)
	case !there:
		return fmt.Errorf("near/postgres: there is no schema pinwheel with the table of changes: %s", hint)
	}
	grant := fmt.Sprintf("want an administrator to run GRANT USAGE ON SCHEMA pinwheel TO %[1]s; GRANT SELECT ON ALL TABLES IN SCHEMA pinwheel TO %[1]s", quoteName(user))
	if !usage {
		return fmt.Errorf("near/postgres: user %s may not use the schema pinwheel: %s", user, grant)
	}
	err = db.QueryRow(ctx, `SELECT has_table_privilege('pinwheel.changes', 'SELECT') AND has_table_privilege('pinwheel.marks', 'SELECT') AND has_table_privilege('pinwheel.boot', 'SELECT')`).Scan(&reads)
	switch {
	case err != nil:
		return fmt.Errorf("near/postgres: %w: %s", err, hint)
	case !reads:
		return fmt.Errorf("near/postgres: user %s may not read the table of changes: %s", user, grant)
	}
	if err := checkPersistence(ctx, db); err != nil {
		return err
	}
	if c.options.Listen {
		if err := checkWake(ctx, db); err != nil {
			return err
		}
	}
	return c.checkTables(ctx, db, hint)
}

// checkPersistence returns an error if a crash would empty what must last, or leave what must not.
func checkPersistence(ctx context.Context, db Querier) error {
	var table, want string
	err := db.QueryRow(ctx, `SELECT oid::regclass::text, CASE relname WHEN 'boot' THEN 'UNLOGGED' ELSE 'LOGGED' END FROM pg_class
		WHERE relnamespace = to_regnamespace('pinwheel') AND relname IN ('changes', 'marks', 'boot')
		AND (relpersistence = 'u') <> (relname = 'boot') LIMIT 1`).Scan(&table, &want)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("near/postgres: %w", err)
	}
	return fmt.Errorf("near/postgres: with %[1]s as it is, a crash would go unnoticed: want an administrator to run ALTER TABLE %[1]s SET %[2]s", table, want)
}

func checkWake(ctx context.Context, db Querier) error {
	var there bool
	err := db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'pinwheel.changes'::regclass AND tgname = 'pinwheel_wake' AND tgenabled IN ('O', 'A'))`).Scan(&there)
	switch {
	case err != nil:
		return fmt.Errorf("near/postgres: %w", err)
	case !there:
		return errors.New("near/postgres: Listen is set, and changes notify nobody: want an administrator to run what postgres.WakeSQL returns")
	}
	return nil
}

// checkTables returns what is wrong with the triggers of the tables.
func (c *Changes) checkTables(ctx context.Context, db Querier, hint string) error {
	var problems []error
	for _, t := range c.tables {
		var there, installed bool
		if err := db.QueryRow(ctx, fmt.Sprintf("SELECT to_regclass(%s) IS NOT NULL, %s", quoteText(t.sql()), t.installedSQL())).Scan(&there, &installed); err != nil {
			return fmt.Errorf("near/postgres: %w", err)
		}
		switch {
		case !there:
			problems = append(problems, fmt.Errorf("near/postgres: there is no table %s in this database: want its name as the catalog has it, with its schema if that is not public", t.Full()))
		case !installed:
			problems = append(problems, fmt.Errorf("near/postgres: table %s has no triggers for the keys %s: %s", t.Full(), t.Describe(), hint))
		}
	}
	return errors.Join(problems...)
}
