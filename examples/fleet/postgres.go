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

const table = "pinwheel_fleet_users"

var tables = []postgres.Table{{Name: table, Keys: []string{prefix + "{id}"}}}

// A rows is a table of PostgreSQL, by connections of its own.
type rows struct{ *pgxpool.Pool }

// openRows connects to PostgreSQL, through a network if it is not nil.
func openRows(ctx context.Context, config *pgxpool.Config, through *neartest.Proxy) (rows, error) {
	config = config.Copy()
	config.MaxConns = 8
	if through != nil {
		config.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", through.Addr)
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return rows{pool}, err
}

// install makes the table, and what tells of its changes.
func install(ctx context.Context, config *pgxpool.Config) (r rows, err error) {
	if r, err = openRows(ctx, config, nil); err != nil {
		return r, err
	}
	err = r.exec(ctx, fmt.Sprintf(`DROP TABLE IF EXISTS %[1]s;
		CREATE TABLE %[1]s (id int PRIMARY KEY, name text NOT NULL, version int NOT NULL DEFAULT 0);
		INSERT INTO %[1]s SELECT i, 'user ' || i FROM generate_series(0, %[2]d) AS i;`, table, users-1)+postgres.SQL(tables...))
	if err != nil {
		r.Close()
	}
	return r, err
}

// end removes both, and leaves the schema pinwheel: there may be other tables that it is for.
func (r rows) end() error {
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return r.exec(ctx, postgres.DropSQL(tables...)+"DROP TABLE "+table)
}

func (r rows) exec(ctx context.Context, statements string) error {
	_, err := r.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (r rows) read(ctx context.Context, id int) (u user, err error) {
	err = r.QueryRow(ctx, "SELECT id, name, version FROM "+table+" WHERE id = $1", id).Scan(&u.ID, &u.Name, &u.Version)
	return u, err
}

func (r rows) change(ctx context.Context, id int) (version int, err error) {
	err = r.QueryRow(ctx, "UPDATE "+table+" SET version = version + 1 WHERE id = $1 RETURNING version", id).Scan(&version)
	return version, err
}
