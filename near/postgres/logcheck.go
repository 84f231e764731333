package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A catalog is what the database says of the tables at the start of a session.
type catalog struct {
	fingerprint string
	tables      map[uint32]table
	bases       map[uint32]uint32
}

func (c catalog) reader() *rowReader {
	return &rowReader{tables: c.tables, bases: c.bases, relations: map[uint32][]column{}}
}

// names returns the tables as SQL has them.
func (l *Log) names() (names []string) {
	for _, t := range l.tables {
		names = append(names, t.sql())
	}
	return names
}

// checkDatabase returns an error if the log cannot be read, or would not have all changes. The
// fingerprint is read first: what is altered during the checks is noticed by the first question.
func (l *Log) checkDatabase(ctx context.Context, conn *pgx.Conn) (catalog, error) {
	c := catalog{tables: map[uint32]table{}, bases: map[uint32]uint32{}}
	if err := checkServer(ctx, conn); err != nil {
		return c, err
	}
	if err := checkReplication(ctx, conn); err != nil {
		return c, err
	}
	if err := conn.QueryRow(ctx, fingerprintSQL, l.options.Publication, l.names()).Scan(&c.fingerprint); err != nil {
		return c, fmt.Errorf("near/postgres: %w", err)
	}
	if err := l.checkPublication(ctx, conn); err != nil {
		return c, err
	}
	if err := l.checkTables(ctx, conn, c.tables); err != nil {
		return c, err
	}
	rows, err := conn.Query(ctx, `WITH RECURSIVE down AS (
		SELECT oid, typbasetype AS base FROM pg_type WHERE typtype = 'd'
		UNION ALL SELECT down.oid, t.typbasetype FROM down JOIN pg_type t ON t.oid = down.base AND t.typtype = 'd'
	) SELECT down.oid, down.base FROM down JOIN pg_type t ON t.oid = down.base AND t.typtype <> 'd'`)
	if err != nil {
		return c, fmt.Errorf("near/postgres: %w", err)
	}
	var domain, base uint32
	_, err = pgx.ForEachRow(rows, []any{&domain, &base}, func() error {
		c.bases[domain] = base
		return nil
	})
	return c, err
}

// checkReplication returns an error if the server, or the user, cannot replicate.
func checkReplication(ctx context.Context, db Querier) error {
	var level, user string
	var may, free bool
	err := db.QueryRow(ctx, `SELECT current_setting('wal_level'), current_user, rolsuper OR rolreplication,
		(SELECT count(*) FROM pg_replication_slots) < current_setting('max_replication_slots')::int FROM pg_roles WHERE rolname = current_user`).Scan(&level, &user, &may, &free)
	switch {
	case err != nil:
		return fmt.Errorf("near/postgres: %w", err)
	case level != "logical":
		return fmt.Errorf("near/postgres: wal_level is %s: want an administrator to run ALTER SYSTEM SET wal_level = logical, and to restart the server", level)
	case !may:
		return fmt.Errorf("near/postgres: user %[1]s may not replicate: want an administrator to run ALTER ROLE %[1]s REPLICATION", quoteName(user))
	case !free:
		return errors.New("near/postgres: no replication slot is free: want an administrator to run ALTER SYSTEM SET max_replication_slots with a greater number, and to restart the server")
	}
	return nil
}

// checkPublication returns an error if the publication lacks changes.
func (l *Log) checkPublication(ctx context.Context, db Querier) error {
	const hint = "want an administrator to run what postgres.LogSQL returns for these options"
	name := quoteName(l.options.Publication)
	var all, root bool
	var problems []error
	err := db.QueryRow(ctx, `SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot FROM pg_publication WHERE pubname = $1`, l.options.Publication).Scan(&all, &root)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("near/postgres: there is no publication %s: %s", name, hint)
	case err != nil:
		return fmt.Errorf("near/postgres: %w", err)
	case !all:
		problems = append(problems, fmt.Errorf("near/postgres: publication %[1]s leaves out kinds of changes: want an administrator to run ALTER PUBLICATION %[1]s SET (publish = 'insert, update, delete, truncate')", name))
	}
	if root {
		problems = append(problems, fmt.Errorf("near/postgres: publication %[1]s does not tell of TRUNCATE of a partition: want an administrator to run ALTER PUBLICATION %[1]s SET (publish_via_partition_root = false)", name))
	}
	for _, t := range l.tables {
		var there, in, part bool
		err := db.QueryRow(ctx, `SELECT to_regclass($2) IS NOT NULL, coalesce(bool_or(p.puballtables OR r.prrelid = to_regclass($2)), false),
			coalesce(bool_or(r.prrelid = to_regclass($2) AND (to_jsonb(r)->>'prqual' IS NOT NULL OR to_jsonb(r)->>'prattrs' IS NOT NULL)), false)
			FROM pg_publication p LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid WHERE p.pubname = $1`, l.options.Publication, t.sql()).Scan(&there, &in, &part)
		switch {
		case err != nil:
			return fmt.Errorf("near/postgres: %w", err)
		case !there:
			problems = append(problems, fmt.Errorf("near/postgres: there is no table %s in this database: want its name as the catalog has it, with its schema if that is not public", t.Full()))
		case !in:
			problems = append(problems, fmt.Errorf("near/postgres: table %s is not in publication %s: %s", t.Full(), name, hint))
		case part:
			problems = append(problems, fmt.Errorf("near/postgres: publication %[1]s has only some rows or columns of table %[2]s: want an administrator to run ALTER PUBLICATION %[1]s DROP TABLE %[3]s; ALTER PUBLICATION %[1]s ADD TABLE %[3]s", name, t.Full(), t.sql()))
		}
	}
	return errors.Join(problems...)
}

// checkTables returns an error if the log lacks columns of old rows. It fills in which table of the
// options each one is.
func (l *Log) checkTables(ctx context.Context, conn *pgx.Conn, tables map[uint32]table) error {
	rows, err := conn.Query(ctx, `SELECT m.n, m.oid, m.oid::regclass::text, m.kind, m.identity, ARRAY(SELECT attname::text FROM pg_attribute
		WHERE attrelid = m.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') FROM (SELECT $1::text) AS publication, (`+membersSQL+`) m`, l.options.Publication, l.names())
	if err != nil {
		return fmt.Errorf("near/postgres: %w", err)
	}
	var n int
	var id uint32
	var name, kind string
	var identity, columns []string
	var problems []error
	_, err = pgx.ForEachRow(rows, []any{&n, &id, &name, &kind, &identity, &columns}, func() error {
		t := l.tables[n-1]
		tables[id] = t
		absent := without(t.Columns(), columns)
		lacking := without(t.Columns(), identity)
		switch {
		case len(absent) > 0:
			problems = append(problems, fmt.Errorf("near/postgres: table %s has no column %s that is in the log: want Keys of columns that are there, and not generated", name, strings.Join(absent, ", ")))
		case len(lacking) > 0 || kind == "n":
			problems = append(problems, fmt.Errorf("near/postgres: the log does not have %s of an old row of table %s: want an administrator to run ALTER TABLE %[2]s REPLICA IDENTITY FULL", strings.Join(lacking, ", "), name))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("near/postgres: %w", err)
	}
	return errors.Join(problems...)
}

// without returns those names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(others, name) })
}
