package main

import (
	_ "embed" // for the settings
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/zeromicro/go-zero/core/conf"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/load"
)

//go:embed etc/service.yaml
var defaultConfig []byte

// options are the flags. Those that are also settings win over the file.
type options struct {
	file     string
	database string
	port     int
	load     load.Rate
	outage   time.Duration
}

// parseOptions ends the program if the arguments are bad or ask for help.
func parseOptions(args []string) options {
	o := options{port: -1}
	f := flag.NewFlagSet("service", flag.ExitOnError)
	f.StringVar(&o.file, "f", "", "settings `file`; etc/service.yaml, built in, is the default and the example")
	f.StringVar(&o.database, "db", "", "database `file`; filled with 10,000 users if it is new (default in your cache directory)")
	f.Func("port", "`port` to listen on, 0 for any free one (default 8888)", o.setPort)
	f.Var(&o.load, "load", "make this many `requests` a second against itself, such as 500/s")
	f.Func("outage", "have the database be well for this `time`, hang for it, be well, fail, and so on, such as 20s; users are to notice nothing", o.setOutage)
	_ = f.Parse(args) // ExitOnError
	if f.NArg() > 0 {
		fmt.Fprintf(f.Output(), "unexpected argument %q\n", f.Arg(0))
		f.Usage()
		os.Exit(2)
	}
	return o
}

func (o *options) setPort(s string) error {
	port, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return errors.New("want a number from 0 to 65535")
	}
	o.port = int(port)
	return nil
}

func (o *options) setOutage(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < shortestOutage {
		return fmt.Errorf("want a time of at least %v, such as 20s", shortestOutage)
	}
	o.outage = d
	return nil
}

// config returns the settings of the file, or the built-in ones, with the flags
// on top.
func (o *options) config() (c config.Config, err error) {
	if o.file == "" {
		err = conf.LoadFromYamlBytes(defaultConfig, &c)
	} else if err = conf.Load(o.file, &c); err != nil {
		err = fmt.Errorf("cannot use the settings in %s: %w", o.file, err)
	}
	if o.database != "" {
		c.Database = o.database
	}
	if o.port >= 0 {
		c.Port = o.port
	}
	if o.outage > 0 {
		outlast(&c.Users, o.outage)
	}
	return c, err
}
