// Program neartest proves near/mysql or near/postgres against a server of yours: three instances read
// rows through caches, others write them by plain SQL, and the network between sources and server
// fails. It prints a verdict, and ends with 1 if an answer was older than MaxLag.
//
//	go run -C proof ./neartest -mysql 'root:secret@tcp(127.0.0.1:3306)/test'
//	go run -C proof ./neartest -postgres 'postgres://postgres@127.0.0.1/test' -log
//
// It makes a table pinwheel_neartest in that database, and removes it at the end. For near/postgres it
// also installs what postgres.SQL or postgres.LogSQL returns, which stays. Give it a database of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/mysql"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/proof/internal/truth"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	table     = "pinwheel_neartest"
	instances = 3
)

// options are those of the command line.
type options struct {
	mysql, postgres string
	log             bool
	untested        bool
	drop            float64
	during, maxLag  time.Duration
}

func run(args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("neartest", flag.ContinueOnError)
	flags.StringVar(&o.mysql, "mysql", "", "the DSN of a database of MariaDB or MySQL, as github.com/go-sql-driver/mysql has it")
	flags.StringVar(&o.postgres, "postgres", "", "the URL of a database of PostgreSQL")
	flags.BoolVar(&o.log, "log", false, "with -postgres, use Log instead of Changes")
	flags.BoolVar(&o.untested, "untested", false, "with -mysql, allow servers that are not MariaDB")
	flags.Float64Var(&o.drop, "drop", 0, "lose so many of the changes, such as 0.15, to see a verdict that is not good")
	flags.DurationVar(&o.during, "for", 30*time.Second, "how long the network fails")
	flags.DurationVar(&o.maxLag, "maxlag", 300*time.Millisecond, "the MaxLag of the caches")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if (o.mysql == "") == (o.postgres == "") || flags.NArg() > 0 || o.during <= 0 || o.maxLag <= 0 {
		return errors.New("neartest: want -mysql DSN or -postgres URL, and times greater than 0")
	}
	j := newJudge(out)
	defer j.cleanUp()
	j.try(func() {
		if o.mysql != "" {
			o.proveMySQL(j)
		} else {
			o.provePostgres(j)
		}
	})
	if j.Failed() {
		return errors.New("neartest: FAILED")
	}
	fmt.Fprintln(out, "neartest: passed")
	return nil
}

func (o options) proveMySQL(j *judge) {
	config, err := driver.ParseDSN(o.mysql)
	j.check(err)
	if config.Net != "tcp" {
		j.Fatalf("the DSN has an address of %q: want tcp, which a proxy can fail", config.Net)
	}
	tr, err := truth.NewMySQL(j.Context(), o.mysql, table)
	j.check(err)
	j.Cleanup(func() { j.note(tr.Close()) })
	p := neartest.NewProxy(j, config.Addr)
	config.Addr = p.Addr
	o.prove(j, tr, p, func() (near.Source, error) {
		return mysql.NewLog(config.FormatDSN(), mysql.LogOptions{Tables: []mysql.Table{tr.Keys()}, UntestedMySQL: o.untested})
	})
}

func (o options) provePostgres(j *judge) {
	at, err := url.Parse(o.postgres)
	j.check(err)
	db, err := pgxpool.New(j.Context(), o.postgres)
	j.check(err)
	j.Cleanup(db.Close)
	tables := []postgres.Table{truth.PostgresKeys(table)}
	logOptions := postgres.LogOptions{Tables: tables, Publication: table}
	install, remove := postgres.SQL(tables...), "DROP TABLE "+table
	if o.log {
		install, remove = postgres.LogSQL(logOptions), "DROP PUBLICATION "+table+"; "+remove
	}
	_, err = db.Exec(j.Context(), truth.PostgresSQL(table)+install, pgx.QueryExecModeSimpleProtocol)
	j.check(err)
	j.Cleanup(func() {
		_, err := db.Exec(context.Background(), remove, pgx.QueryExecModeSimpleProtocol)
		j.note(err)
	})
	config := db.Config().ConnConfig
	p := neartest.NewProxy(j, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	at.Host = p.Addr
	o.prove(j, truth.NewPostgres(db, table), p, func() (near.Source, error) {
		if o.log {
			return postgres.NewLog(at.String(), logOptions)
		}
		through, err := pgxpool.New(j.Context(), at.String())
		if err != nil {
			return nil, err
		}
		j.Cleanup(through.Close)
		return postgres.NewChanges(through, postgres.ChangesOptions{Tables: tables})
	})
}

// prove has a fleet read over sources whose ways to the server are through a proxy that fails.
func (o options) prove(j *judge, tr neartest.Truth, p *neartest.Proxy, source func() (near.Source, error)) {
	f := neartest.NewFleet(tr, o.maxLag)
	for range instances {
		s, err := source()
		j.check(err)
		if o.drop > 0 {
			s = neartest.Drop(s, o.drop)
		}
		f.JoinLocal(j, truth.Prefix, s)
	}
	names := slices.Sorted(maps.Keys(neartest.Faults))
	f.Run(j, func() {
		for end := time.Now().Add(o.during); time.Now().Before(end); time.Sleep(rand.N(3 * o.maxLag)) {
			p.Suffer(neartest.Faults[names[rand.N(len(names))]], rand.N(2*o.maxLag), neartest.Direction(rand.N(2)))
		}
	})
	f.Verdict(j)
}
