package redis

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestMastership checks when a master behind Sentinels may be read.
//
// Catches: a master that is read on when no Sentinel names it any more; one that is refused
// though nobody watches, after a pause of the process, or for longer than the shortest MaxLag;
// a caller that waits beyond its context.
func TestMastership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lag = time.Second
		var m mastership
		// waits returns how long a read waits, and why it fails.
		waits := func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			err := m.wait(ctx)
			return time.Since(began), err
		}
		check := func(what string, wait time.Duration, want error) {
			t.Helper()
			if took, err := waits(t.Context()); took != wait || !errors.Is(err, want) {
				t.Errorf("%s: %v after %v, want %v after %v", what, err, took, want, wait)
			}
		}
		check("nobody watches", 0, nil)
		stop := m.watch(lag)
		time.Sleep(lag - 1)
		check("the watch begins", 0, nil)
		time.Sleep(time.Nanosecond)
		check("no Sentinel has answered", lag, errUnnamed)
		m.name(time.Now().Add(-lag / 2))
		m.name(time.Now().Add(-lag)) // an answer that was late
		time.Sleep(lag/2 - 1)
		check("named", 0, nil)
		time.Sleep(time.Nanosecond)
		check("not named again", lag, errUnnamed)

		time.AfterFunc(lag/4, func() { m.name(time.Now()) })
		check("named while it waits", lag/4, nil)

		stopShort := m.watch(lag / 10)
		time.Sleep(lag / 10)
		check("the shorter MaxLag counts", lag/10, errUnnamed)

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if took, err := waits(ctx); took != time.Millisecond || !errors.Is(err, errUnnamed) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context ends: %v after %v", err, took)
		}
		time.AfterFunc(lag/20, func() { stopShort(); stop() })
		check("the last watch ends", lag/20, nil)
		stop = m.watch(lag)
		check("a new watch", 0, nil)
		stop()
	})
}
