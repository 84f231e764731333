package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// staleness measures how long another instance returns the old value after a write has been
// acknowledged. A reader that never pauses takes a whole processor, for which Redis and its
// connection wait where there are two; so a reader that pauses is measured too.
func staleness(out io.Writer, server *redistest.Server, s scale) error {
	ctx := context.Background()
	writer, err := newRueidis(server.Addr)
	if err != nil {
		return err
	}
	defer writer.close()
	readers, err := clients(server.Addr)
	if err != nil {
		return err
	}
	defer closeAll(readers)
	fmt.Fprintf(out, "\n| stale after an acknowledged write, %d writes | the reader | of them | p50 µs | p90 µs | p99 µs | worst µs |\n|---|---|---:|---:|---:|---:|---:|\n", s.rounds)
	version := 0
	for _, reader := range readers {
		for _, pause := range []struct {
			name string
			wait func()
		}{{"looks all the time", func() {}}, {"pauses", pause}} {
			var times []time.Duration
			seen := 0 // as stale
			for range s.rounds {
				version++
				stale, err := staleFor(ctx, writer, reader, version, pause.wait)
				if err != nil {
					return fmt.Errorf("%s: %w", reader.name, err)
				}
				times = append(times, stale)
				if stale > 0 {
					seen++
				}
			}
			slices.Sort(times)
			at := func(q float64) float64 { return float64(times[int(q*float64(len(times)-1))].Nanoseconds()) / 1000 }
			fmt.Fprintf(out, "| %s | %s | %.1f %% | %.1f | %.1f | %.1f | %.1f |\n", reader.name, pause.name, 100*float64(seen)/float64(s.rounds), at(0.5), at(0.9), at(0.99), at(1))
		}
	}
	return nil
}

// staleFor writes a user whose tags count versions, once the reader has the one before.
func staleFor(ctx context.Context, writer, reader client, version int, pause func()) (time.Duration, error) {
	const id = 1
	u := newUser(version)
	if version == 1 {
		if err := writer.set(ctx, id, newUser(0)); err != nil {
			return 0, err
		}
	}
	if _, err := reader.get(ctx, id); err != nil { // it is local now
		return 0, err
	}
	if err := writer.set(ctx, id, u); err != nil {
		return 0, err
	}
	acknowledged := time.Now()
	for stale := time.Duration(0); ; stale = time.Since(acknowledged) {
		got, err := reader.get(ctx, id)
		if err != nil || got.ID == version {
			return stale, err
		}
		pause()
	}
}
