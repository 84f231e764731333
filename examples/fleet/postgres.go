package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
)

// usersTable tells the keys of the rows that change, to either source.
var usersTable = postgres.Table{Name: "users", Keys: []string{"users:{id}"}}

const usersSQL = `CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, version int NOT NULL);
	INSERT INTO users SELECT n, 'user ' || n, 0 FROM generate_series(0, %d) n;`

// An overPostgres has the rows in PostgreSQL, which tells the caches of the instances whatever
// changes. There is no Redis.
type overPostgres struct {
	config config
	server *pgtest.Server // nil with -postgres
	url    *url.URL       // of the database of this run
	admin  string         // URL by which that database was made, with -postgres
}

func newOverPostgres(ctx context.Context, c config) (_ *overPostgres, err error) {
	p := &overPostgres{config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if c.postgres == "" {
		err = p.start()
	} else {
		err = p.makeDatabase(ctx)
	}
	if err != nil {
		return nil, err
	}
	sql := fmt.Sprintf(usersSQL, users-1)
	if c.truth == "postgres-log" {
		sql += postgres.LogSQL(p.logOptions())
	} else {
		sql += postgres.SQL(usersTable)
	}
	return p, exec(ctx, p.url.String(), sql)
}

func (p *overPostgres) start() (err error) {
	if p.server, err = pgtest.Start("wal_level=logical"); err != nil {
		if errors.Is(err, pgtest.ErrNoServer) {
			err = fmt.Errorf("%w, or give -postgres the URL of one that runs", err)
		}
		return err
	}
	p.url, err = url.Parse(p.server.URL())
	return err
}

// makeDatabase makes a database for this run on the server of -postgres, whose others it leaves
// alone.
func (p *overPostgres) makeDatabase(ctx context.Context) error {
	u, err := url.Parse(p.config.postgres)
	if err != nil || u.Port() == "" {
		return fmt.Errorf("-postgres %s: want a URL such as postgres://user:password@host:5432/postgres", p.config.postgres)
	}
	name := "fleet_" + strings.ToLower(rand.Text())
	if err := exec(ctx, u.String(), "CREATE DATABASE "+name); err != nil {
		return fmt.Errorf("-postgres: %w; want a user who may make databases", err)
	}
	p.admin = u.String()
	p.url = u.JoinPath()
	p.url.Path = "/" + name
	return nil
}

func (p *overPostgres) stop() (err error) {
	if p.admin != "" {
		err = p.dropDatabase()
	}
	if p.server != nil {
		p.server.Stop()
	}
	return err
}

// dropDatabase tries again while the server has not noticed yet that a stream of the log has ended.
func (p *overPostgres) dropDatabase() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		err := exec(ctx, p.admin, "DROP DATABASE "+strings.TrimPrefix(p.url.Path, "/")+" WITH (FORCE)")
		var refused *pgconn.PgError
		const inUse = "55006"
		if !errors.As(err, &refused) || refused.Code != inUse || ctx.Err() != nil {
			return err
		}
		sleep(ctx, 10*time.Millisecond)
	}
}

// exec runs statements over a connection of its own.
func exec(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

func (p *overPostgres) logOptions() postgres.LogOptions {
	return postgres.LogOptions{Tables: []postgres.Table{usersTable}}
}

// enter makes an instance without a cache, and its connections to the database. They go over its
// network, by a proxy to which url leads.
func (p *overPostgres) enter(ctx context.Context) (s *service, db *pgxpool.Pool, err error) {
	s = &service{network: newNetwork()}
	proxy, err := s.network.serve(p.url.Host)
	if err != nil {
		return nil, nil, err
	}
	through := *p.url
	through.Host = proxy.listener.Addr().String()
	c, err := pgxpool.ParseConfig(through.String())
	if err == nil {
		c.MaxConns = 10
		c.ConnConfig.ConnectTimeout = p.config.maxLag
		db, err = pgxpool.NewWithConfig(ctx, c)
	}
	if err != nil {
		proxy.close()
		return nil, nil, err
	}
	s.close = func() error {
		db.Close()
		proxy.close()
		return nil
	}
	s.change = func(ctx context.Context, id int) (version int, err error) {
		err = db.QueryRow(ctx, "UPDATE users SET version = version + 1 WHERE id = $1 RETURNING version", id).Scan(&version)
		return version, err
	}
	return s, db, nil
}

// load reads a user for a cache.
func (s *service) load(ctx context.Context, db *pgxpool.Pool, id int) (u user, err error) {
	s.loads.Add(1)
	err = db.QueryRow(ctx, "SELECT id, name, version FROM users WHERE id = $1", id).Scan(&u.ID, &u.Name, &u.Version)
	return u, err
}

// join makes an instance whose connections all go over its network: those of its loads, of its
// writes and of its source.
func (p *overPostgres) join(ctx context.Context, name string) (_ *service, err error) {
	s, db, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	source, err := p.source(db)
	if err != nil {
		return nil, err
	}
	cached, err := near.NewLocal(source, near.LocalOptions[int, user]{
		Cache:  cache.Options[int, user]{Name: name, Limit: users, Expire: time.Minute},
		Prefix: "users:", MaxLag: p.config.maxLag,
	})
	if err != nil {
		return nil, err
	}
	s.take = func(ctx context.Context, id int) (user, error) {
		return cached.Take(ctx, id, func(ctx context.Context, _ *cache.Load[user]) (user, error) { return s.load(ctx, db, id) })
	}
	s.stats = cached.Stats
	s.alsoClose(func() error { return cached.Close(context.Background()) })
	return s, nil
}

// source returns the source of changes of an instance, which connects as db does.
func (p *overPostgres) source(db *pgxpool.Pool) (near.Source, error) {
	if p.config.truth == "postgres-log" {
		return postgres.NewLog(db.Config().ConnString(), p.logOptions())
	}
	return postgres.NewChanges(db, postgres.ChangesOptions{Tables: []postgres.Table{usersTable}})
}

// change counts as acknowledged when the database has it. Nobody removes anything.
func (p *overPostgres) change(ctx context.Context, s *service, id int) (version int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.change(ctx, id)
}

// readWithoutNear only counts: that many reads would take the machine from the instances.
func (p *overPostgres) readWithoutNear(int) error { return nil }

func (p *overPostgres) harm(ctx context.Context, f *fleet, lasts time.Duration) bool {
	switch f.config.fault {
	case "kill":
		f.note("PostgreSQL is killed, and starts again after %v", lasts)
		p.server.Crash()
		sleep(ctx, lasts)
		if err := p.server.Restart(); err != nil {
			f.note("PostgreSQL does not start again: %v", err)
			return false
		}
	case "psql":
		f.note("somebody changes rows by plain SQL, all the time")
		if err := p.writeByHand(ctx, f); err != nil && ctx.Err() == nil {
			f.note("he cannot go on: %v", err)
		}
		return false
	}
	return true
}

// writeByHand changes several rows at a time until ctx ends.
func (p *overPostgres) writeByHand(ctx context.Context, f *fleet) error {
	conn, err := pgx.Connect(ctx, p.url.String())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for popular := popularity(); ctx.Err() == nil; sleep(ctx, writePause) {
		id := int(popular.Uint64())
		rows, err := conn.Query(ctx, fmt.Sprintf("UPDATE users SET version = version + 1 WHERE id BETWEEN %d AND %d RETURNING id, version", id, id+2), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		changed, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[user])
		if err != nil {
			return err
		}
		for _, u := range changed {
			f.writes.Add(1)
			f.ledger.acknowledge(u.ID, u.Version)
		}
	}
	return nil
}
