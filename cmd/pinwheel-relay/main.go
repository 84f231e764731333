// Pinwheel-relay removes from Redis what changes in a PostgreSQL database, so that near caches over
// that Redis are at most MaxLag older than the database, whoever writes to it:
//
//	pinwheel-relay -sql -table 'users=user:{id},user:email:{email}' | psql -1
//	pinwheel-relay -postgres postgres://app@db/app -redis redis://cache:6379 -table 'users=user:{id},user:email:{email}'
//
// Run two or more: one relays, and another takes over when it ends. It needs the migration that -sql
// prints, and a Redis that is one server or has Sentinels. Passwords may be in the environment:
// PINWHEEL_POSTGRES and PINWHEEL_REDIS are the defaults of -postgres and -redis.
//
// On the address of -listen, /ready answers 200 while it relays or waits for another that does, and
// /metrics has its counts for Prometheus. It ends by SIGTERM or an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "pinwheel-relay:", err)
		os.Exit(1)
	}
}

// run relays until ctx ends. An error says what has to be done first.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.sql {
		_, err := io.WriteString(stdout, postgres.SQL(o.tables...))
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	db, err := pgxpool.New(ctx, o.postgres)
	if err != nil {
		return fmt.Errorf("-postgres: %w", err)
	}
	defer db.Close()
	failed := func(err error) { log.Error(err.Error()) }
	changes, err := postgres.NewChanges(db, postgres.ChangesOptions{Tables: o.tables, OnError: failed})
	if err != nil {
		return fmt.Errorf("%w\n(pinwheel-relay -sql with the same -table prints the migration)", err)
	}
	store, err := openRedis(ctx, o)
	if err != nil {
		return err
	}
	defer store.Close()
	lock, err := relay.NewAdvisoryLock(o.lock, o.name)
	if err != nil {
		return err
	}
	r, err := relay.New(relay.Options{Source: changes, Redis: store, Lock: lock, MaxLag: o.maxLag, OnError: failed})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	log.Info("relaying when no other relay does", "name", o.name, "listen", listener.Addr().String(), "prefixes", fmt.Sprint(o.prefixes))
	web := &http.Server{Handler: handler(r, changes, o.maxLag), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		served <- web.Serve(listener)
		end()
	}()
	r.Run(ctx)
	_ = web.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	log.Info("ended")
	return nil
}

// openRedis connects to Redis.
func openRedis(ctx context.Context, o options) (*redis.Redis, error) {
	client, err := rueidis.ParseURL(o.redis)
	if err != nil {
		return nil, fmt.Errorf("-redis: %w: want such as redis://user:password@cache:6379/0", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("no answer for 10 seconds"))
	defer cancel()
	r, err := redis.New(ctx, redis.Options{Client: client, Prefixes: o.prefixes, Relay: o.name})
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	return r, nil
}
