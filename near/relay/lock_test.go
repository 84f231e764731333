package relay_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// Catches: two holders of a lock; a lock that nobody gets after its holder's session has ended, or whose
// holder goes on then; a lock of another name that waits.
func TestAdvisoryLock(t *testing.T) {
	t.Parallel()
	s, err := pgtest.Start()
	pgtest.Started(t, s, err)
	lock := func(name string) *relay.AdvisoryLock {
		l, err := relay.NewAdvisoryLock(s.URL(), name)
		check(t, err)
		return l
	}
	held := make(chan int, 10)
	hold := func(l *relay.AdvisoryLock, number int) (stop context.CancelFunc, done chan error) {
		ctx, stop := context.WithCancel(t.Context())
		done = make(chan error, 1)
		go func() {
			done <- l.Hold(ctx, func(ctx context.Context) error { held <- number; <-ctx.Done(); return nil })
		}()
		return stop, done
	}
	wait := func(what string, want int) {
		t.Helper()
		select {
		case got := <-held:
			if got != want {
				t.Fatalf("%s: %d holds, want %d", what, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: nobody holds", what)
		}
	}
	_, first := hold(lock("a"), 1)
	wait("the first", 1)
	stop, second := hold(lock("a"), 2)
	stopOther, other := hold(lock("b"), 3)
	wait("another name", 3) // while the second tries
	check(t, s.Exec(`SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
		WHERE locktype = 'advisory' ORDER BY backend_start LIMIT 1`))
	neartest.InTime(t, "the end of the first", func() {
		if err := <-first; err == nil || !strings.Contains(err.Error(), "terminating") {
			t.Errorf("the first ended by %v", err)
		}
	})
	wait("after the first", 2)
	stop()
	stopOther()
	neartest.InTime(t, "the end", func() { <-second; <-other })
}

// Catches: a mistake in the connection string that is found later only.
func TestLockRefused(t *testing.T) {
	if _, err := relay.NewAdvisoryLock("postgres://%", "a"); err == nil {
		t.Error("no error")
	}
}

// Catches: options that are wrong and not refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	_, err := relay.New(relay.Options{MaxLag: 3})
	for _, want := range []string{"Source is nil", "Redis is nil", "unit forgotten"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
