// Command fleet runs three instances of a service, each with a near cache, over one database,
// and shows how stale their answers are while Redis or the network fails.
//
//	go run ./fleet                                  # and open http://127.0.0.1:8083
//	go run ./fleet -fault stall                     # an instance's network falls silent every ten seconds
//	go run ./fleet -truth relay -fault psql         # rows are changed by hand in PostgreSQL, and relays tell Redis
//	go run ./fleet -lossy 1%                        # the source leaves out changes, which the auditors find
//	go run ./fleet -for 15s -fault kill -json       # numbers only
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"time"
)

// A config has the values of the flags.
type config struct {
	runFor   time.Duration
	truth    string
	fault    string
	asJSON   bool
	redis    string
	postgres string
	listen   string
	maxLag   time.Duration
	rate     int // reads a second
	lossy    float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func parse(args []string) (config, error) {
	var c config
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.DurationVar(&c.runFor, "for", 0, "run for this long and print a summary; 0: until interrupted, with a page")
	flags.StringVar(&c.truth, "truth", "redis", "what no read lags behind by more than -max-lag: redis (over a bbolt file); postgres (there is no Redis); relay (PostgreSQL, by way of Redis)")
	flags.StringVar(&c.fault, "fault", "none", "what fails every ten seconds, or at a third and at two thirds of -for: none; kill (Redis ends, and starts empty; with -truth postgres it is PostgreSQL); stall (an instance's network falls silent); cut (its connections break); failover (once, by Sentinel); psql (all the time somebody changes rows by hand)")
	flags.BoolVar(&c.asJSON, "json", false, "print the summary as JSON")
	flags.StringVar(&c.redis, "redis", "", "address of a Redis to use, instead of starting redis-server")
	flags.StringVar(&c.postgres, "postgres", "", "URL of a PostgreSQL to use, instead of starting postgres; a table is made there, and removed at the end")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8083", "address of the page")
	flags.DurationVar(&c.maxLag, "max-lag", 500*time.Millisecond, "how stale a read may be at most")
	flags.Func("lossy", "share of the changes that the source leaves out, such as 1%", func(text string) (err error) {
		c.lossy, err = parseShare(text)
		return err
	})
	flags.IntVar(&c.rate, "rate", 3000, "reads a second, of all instances together; a machine that cannot do as many does fewer")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	kills := c.fault == "kill" || c.fault == "failover"
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q: all settings are flags, see -help", flags.Arg(0))
	case truths[c.truth] == nil:
		return c, fmt.Errorf("-truth %q: want redis, postgres or relay", c.truth)
	case !slices.Contains(faults, c.fault):
		return c, fmt.Errorf("-fault %q: want one of %v", c.fault, faults)
	case c.truth == "redis" && c.postgres != "":
		return c, errors.New("-postgres needs -truth postgres or -truth relay: else there is no PostgreSQL")
	case c.truth == "postgres" && (c.redis != "" || c.fault == "failover" || c.lossy > 0):
		return c, errors.New("-truth postgres has no Redis: leave out -redis, -lossy and -fault failover, or want -truth relay")
	case kills && c.redis != "":
		return c, fmt.Errorf("-fault %s ends a Redis: leave -redis out, and one is started for it", c.fault)
	case kills && c.truth == "postgres" && c.postgres != "":
		return c, fmt.Errorf("-fault %s ends a PostgreSQL: leave -postgres out, and one is started for it", c.fault)
	case c.runFor < 0:
		return c, fmt.Errorf("-for %v: want a positive time, or 0 to run until interrupted", c.runFor)
	case c.maxLag < 100*time.Millisecond || c.maxLag > 10*time.Second:
		return c, fmt.Errorf("-max-lag %v: want 100ms to 10s", c.maxLag)
	case c.rate < 1 || c.rate > 1e6:
		return c, fmt.Errorf("-rate %d: want 1 to 1,000,000 reads a second", c.rate)
	case c.asJSON && c.runFor == 0:
		return c, errors.New("-json prints at the end: it needs -for, such as -for 15s")
	}
	return c, nil
}

// run starts the fleet, lets it run, and ends it.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	c, err := parse(args)
	if err != nil {
		return err
	}
	b, err := newBackend(c)
	if err != nil {
		return err
	}
	defer b.stop()
	f, err := newFleet(ctx, c, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if c.runFor > 0 {
		limited, cancel := context.WithTimeout(ctx, c.runFor)
		defer cancel()
		f.run(limited)
		return f.print(out, c.asJSON)
	}
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s shows the fleet. Interrupt to end it.\n", listener.Addr())
	go f.serve(ctx, listener)
	f.run(ctx)
	return f.print(out, false)
}

// A summary is what -json prints.
type summary struct {
	Truth                    string     `json:"truth"`
	Reads                    uint64     `json:"reads"`
	StaleBeyondMaxLag        uint64     `json:"stale_beyond_max_lag"`
	Staleness                staleness  `json:"staleness_ms"`
	DatabaseReads            uint64     `json:"database_reads"`
	DatabaseReadsWithoutNear uint64     `json:"database_reads_without_near"`
	Writes                   uint64     `json:"writes"`
	Failed                   uint64     `json:"failed_reads"`
	LongestMs                float64    `json:"longest_read_ms"`
	OutageReads              uint64     `json:"outage_database_reads"`
	OutageMost               uint64     `json:"outage_database_reads_most"`
	Violations               uint64     `json:"violations"`
	Instances                []instance `json:"instances"`
	Faults                   []string   `json:"faults"`
}

// An instance is where the answers of one instance came from.
type instance struct {
	Here       uint64  `json:"hits_here"`
	There      uint64  `json:"hits_there"`
	None       uint64  `json:"database_reads"`
	Waits      uint64  `json:"waits"`
	Reconnects uint64  `json:"reconnects"`
	Serving    bool    `json:"serving"`
	LagMs      float64 `json:"lag_ms"`
}

func (f *fleet) print(out io.Writer, asJSON bool) error {
	s := f.summary()
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	fmt.Fprintf(out, "%d reads, %d of them failed; %d writes\n", s.Reads, s.Failed, s.Writes)
	fmt.Fprintf(out, "stale when they were asked for: %.2f ms (p50), %.2f ms (p99), %.2f ms (worst); %d beyond %v\n",
		s.Staleness.P50, s.Staleness.P99, s.Staleness.Max, s.StaleBeyondMaxLag, f.config.maxLag)
	fmt.Fprintf(out, "reads of the database: %d, and %d without near\n", s.DatabaseReads, s.DatabaseReadsWithoutNear)
	if s.OutageMost > 0 {
		fmt.Fprintf(out, "while Redis was killed: %d reads of the database, of %d by one for each user and instance in %v\n", s.OutageReads, s.OutageMost, f.config.maxLag)
	}
	if f.config.lossy > 0 || s.Violations > 0 {
		fmt.Fprintf(out, "violations that the auditors found: %d\n", s.Violations)
	}
	fmt.Fprintf(out, "the longest read took %.0f ms; callers leave after %v\n", s.LongestMs, patience)
	for i, in := range s.Instances {
		fmt.Fprintf(out, "instance %d: %d here, %d in Redis, %d in the database; reconnected %d times\n", i+1, in.Here, in.There, in.None, in.Reconnects)
	}
	for _, fault := range s.Faults {
		fmt.Fprintln(out, fault)
	}
	return nil
}
