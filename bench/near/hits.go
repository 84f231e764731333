package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

const hitKeys = 1000

// hits measures reads of local keys, one after another, in one goroutine. The kinds take
// turns, and the median of the turns counts.
func hits(out io.Writer, server *redistest.Server, s scale) error {
	ctx := context.Background()
	all, err := clients(server.Addr)
	if err != nil {
		return err
	}
	all = append(all, newGoRedis(server.Addr, false))
	defer closeAll(all)
	for id := range hitKeys {
		if err := all[0].set(ctx, id, newUser(id)); err != nil {
			return err
		}
	}
	plain := cache.Must(cache.Options[int, *user]{Limit: 10_000, Expire: time.Hour})
	defer plain.Close(ctx)
	missing := func(context.Context) (*user, error) { return nil, errMissing }
	for id := range hitKeys {
		plain.Set(id, newUser(id))
	}
	all = slices.Insert(all, 0, client{name: "plain cache", get: func(ctx context.Context, id int) (*user, error) { return plain.TakeCtx(ctx, id, missing) }})
	all[0].close = func() {}

	const turns = 5
	times := make([][]float64, len(all))
	for range turns {
		for i, c := range all {
			ns, err := hitTime(ctx, c, s.hitTime/turns)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			times[i] = append(times[i], ns)
		}
	}
	fmt.Fprintf(out, "\n| a hit | ns of processor time | times near |\n|---|---:|---:|\n")
	for i, c := range all {
		fmt.Fprintf(out, "| %s | %.0f | %.1f |\n", c.name, median(times[i]), median(times[i])/median(times[1]))
	}
	return nil
}

// hitTime reads for a while and returns the processor time of a read in nanoseconds.
func hitTime(ctx context.Context, c client, during time.Duration) (float64, error) {
	for id := range hitKeys { // each is local afterwards
		if _, err := c.get(ctx, id); err != nil {
			return 0, err
		}
	}
	// Processor time: the machine may have other things to do.
	began, reads := cputime.Used(), 0
	for cputime.Used()-began < during {
		for id := range hitKeys {
			if _, err := c.get(ctx, id); err != nil {
				return 0, err
			}
		}
		reads += hitKeys
	}
	return float64((cputime.Used() - began).Nanoseconds()) / float64(reads), nil
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
