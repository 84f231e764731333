package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"time"
)

func main() {
	c := config{out: os.Stdout, patience: time.Minute}
	flag.DurationVar(&c.duration, "for", time.Minute, "how long to run")
	flag.Uint64Var(&c.ops, "ops", 0, "end when that many operations are done; 0 means when the time is up")
	flag.DurationVar(&c.phase, "phase", 10*time.Second, "how long each phase is")
	flag.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()), "what the load is made of")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := newSoak(c)
	s.launch()
	if s.run(ctx) != nil {
		stop()
		os.Exit(1)
	}
}
