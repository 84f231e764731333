package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
)

// A rows is a table of PostgreSQL, by connections of its own.
type rows struct {
	*pgxpool.Pool
	table string
	drop  bool // at the end
}

// openRows connects to PostgreSQL, through a network if it is not nil.
func (b *backend) openRows(ctx context.Context, through *neartest.Proxy) (rows, error) {
	config := b.postgres.Copy()
	config.MaxConns = 8
	if through != nil {
		config.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", through.Addr)
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return rows{pool, b.table, !b.started}, err
}

func (r rows) tables() []postgres.Table {
	return []postgres.Table{{Name: r.table, Keys: []string{prefix + "{id}"}}}
}

// install makes the table, and what tells of its changes.
func (b *backend) install(ctx context.Context) (database, error) {
	r, err := b.openRows(ctx, nil)
	if err != nil {
		return nil, err
	}
	err = r.exec(ctx, fmt.Sprintf(`CREATE TABLE %[1]s (id int PRIMARY KEY, name text NOT NULL, version int NOT NULL DEFAULT 0);
		INSERT INTO %[1]s SELECT i, 'user ' || i FROM generate_series(0, %[2]d) AS i;`, r.table, users-1)+postgres.SQL(r.tables()...))
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// end removes both from a server that goes on, but not the schema pinwheel: there may be other tables that it is for.
func (r rows) end() error {
	defer r.Close()
	if !r.drop {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return r.exec(ctx, postgres.DropSQL(r.tables()...)+"DROP TABLE "+r.table)
}

func (r rows) exec(ctx context.Context, statements string) error {
	_, err := r.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (r rows) read(ctx context.Context, id int) (u user, err error) {
	err = r.QueryRow(ctx, "SELECT id, name, version FROM "+r.table+" WHERE id = $1", id).Scan(&u.ID, &u.Name, &u.Version)
	return u, err
}

func (r rows) change(ctx context.Context, id int) (version int, err error) {
	err = r.QueryRow(ctx, "UPDATE "+r.table+" SET version = version + 1 WHERE id = $1 RETURNING version", id).Scan(&version)
	return version, err
}
