package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/postgres"
)

// options are what the flags say.
type options struct {
	postgres, lock, redis, name, listen string

	tables   []postgres.Table
	prefixes []string
	maxLag   time.Duration
	sql      bool
}

// parse reads the flags. An error says everything that is wrong with them.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("pinwheel-relay", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.postgres, "postgres", "", "connection `string` of the database; the default is $PINWHEEL_POSTGRES")
	flags.StringVar(&o.lock, "lock", "", "connection `string` for the lock that chooses one relay, if -postgres leads through pgbouncer; the default is that of -postgres")
	flags.StringVar(&o.redis, "redis", "", "`URL` of Redis; the default is $PINWHEEL_REDIS")
	flags.Func("table", "a `table and the keys` of its rows, such as users=user:{id},user:email:{email}; may be repeated", func(text string) error {
		table, keys, ok := strings.Cut(text, "=")
		if !ok || table == "" || keys == "" {
			return errors.New("want TABLE=KEY,KEY, such as users=user:{id}")
		}
		o.tables = append(o.tables, postgres.Table{Name: table, Keys: strings.Split(keys, ",")})
		return nil
	})
	flags.Func("prefix", "a `prefix` of the keys that may be removed; may be repeated; the default are the beginnings of the keys of all tables", func(text string) error {
		o.prefixes = append(o.prefixes, text)
		return nil
	})
	flags.StringVar(&o.name, "name", "main", "`name` of the relay, which the caches know as Options.Relay of near/redis")
	flags.DurationVar(&o.maxLag, "max-lag", time.Second, "the least MaxLag of the caches")
	flags.StringVar(&o.listen, "listen", ":9290", "`address` for /ready and /metrics")
	flags.BoolVar(&o.sql, "sql", false, "print the migration for the tables, and end")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.postgres = cmp.Or(o.postgres, os.Getenv("PINWHEEL_POSTGRES"))
	o.lock = cmp.Or(o.lock, o.postgres)
	o.redis = cmp.Or(o.redis, os.Getenv("PINWHEEL_REDIS"))
	if o.prefixes == nil {
		o.prefixes = prefixes(o.tables)
	}
	var wrong []error
	if flags.NArg() > 0 {
		wrong = append(wrong, fmt.Errorf("%q is no flag: want flags only", flags.Arg(0)))
	}
	if len(o.tables) == 0 {
		wrong = append(wrong, errors.New("-table is missing: want such as -table 'users=user:{id}'"))
	}
	if !o.sql && o.postgres == "" {
		wrong = append(wrong, errors.New("-postgres is missing: want such as postgres://app@db/app, or set PINWHEEL_POSTGRES"))
	}
	if !o.sql && o.redis == "" {
		wrong = append(wrong, errors.New("-redis is missing: want such as redis://cache:6379, or set PINWHEEL_REDIS"))
	}
	return o, errors.Join(wrong...)
}

// prefixes returns what the keys of tables begin with, before their first column. One that begins with
// another is left out, as that covers it.
func prefixes(tables []postgres.Table) (least []string) {
	var all []string
	for _, table := range tables {
		for _, key := range table.Keys {
			prefix, _, _ := strings.Cut(key, "{")
			all = append(all, prefix)
		}
	}
	slices.Sort(all)
	for _, prefix := range all {
		if len(least) == 0 || !strings.HasPrefix(prefix, least[len(least)-1]) {
			least = append(least, prefix)
		}
	}
	return least
}
