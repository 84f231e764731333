package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
)

var rows = []postgres.Table{{Name: "rows", Keys: []string{"row:{k}"}}}

// TestPromises proves the source behind a proxy, with and without notifications, over TLS, and behind pgbouncer.
func TestPromises(t *testing.T) {
	for name, o := range map[string]postgres.ChangesOptions{"polls": {}, "listens": {Listen: &pgx.ConnConfig{}}, "pgbouncer": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			at := database(t)
			plain := connect(t, at)
			run(t, plain, "CREATE TABLE rows (k text PRIMARY KEY, v bytea)", postgres.SQL(rows...), postgres.NotifySQL())
			server := shared.Server
			switch name {
			case "pgbouncer":
				b, err := server.Bouncer()
				server = postgrestest.Started(t, b, err)
			case "listens":
				at = strings.Replace(at, "sslmode=disable", "sslmode=require", 1)
			}
			neartest.Test(t, func(t *testing.T) neartest.Subject {
				p, err := neartest.NewProxy(hostOf(t, server.URL))
				check(t, err)
				t.Cleanup(p.Close)
				pool := connect(t, through(t, at, p.Addr))
				o := o
				o.Tables = rows
				if o.Listen != nil {
					o.Listen = pool.Config().ConnConfig
				}
				return subjectOf(t, pool, plain, o, p)
			})
		})
	}
}

// subjectOf returns a subject whose rows are read by one pool, and written by another.
func subjectOf(t testing.TB, pool, plain *pgxpool.Pool, o postgres.ChangesOptions, p *neartest.Proxy) neartest.Subject {
	t.Helper()
	source, err := postgres.NewChanges(pool, o)
	check(t, err)
	return neartest.Subject{Source: source, Prefix: "row:", Proxy: p, MaxLag: lag,
		Read: func(ctx context.Context, key string) (value []byte, err error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // or its connection ends with it
			defer cancel()
			err = pool.QueryRow(ctx, "SELECT v FROM rows WHERE k = $1", pgx.QueryExecModeExec, key[len("row:"):]).Scan(&value)
			if errors.Is(err, pgx.ErrNoRows) {
				err = nil
			}
			return value, err
		},
		Foreign: func(ctx context.Context, key string, value []byte) (err error) {
			if key = key[len("row:"):]; value == nil {
				_, err = plain.Exec(ctx, "DELETE FROM rows WHERE k = $1", key)
			} else {
				_, err = plain.Exec(ctx, "INSERT INTO rows VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v", key, value)
			}
			return err
		},
	}
}

func hostOf(t testing.TB, of string) string {
	t.Helper()
	u, err := url.Parse(of)
	check(t, err)
	return u.Host
}

// through returns the URL of a database at another address.
func through(t testing.TB, of, host string) string {
	t.Helper()
	u, err := url.Parse(of)
	check(t, err)
	u.Host = host
	return u.String()
}
