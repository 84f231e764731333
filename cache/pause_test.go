package cache

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPause checks when values in Grace are loaded again, by pauses of the user.
//
// Catches: the usual pauses in their place; one that is not counted by failures in a row.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Second, Grace: 24 * time.Hour, Pause: func(failures int) time.Duration {
			return time.Duration(min(failures, 3)-1) * time.Minute
		}})
		defer c.Close(t.Context())
		loads := 0
		fails := true
		take := func(want int) {
			t.Helper()
			_, _ = c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) {
				if loads++; fails {
					return 0, errors.New("down")
				}
				return loads, nil
			})
			synctest.Wait()
			if loads != want {
				t.Errorf("%d loads, want %d", loads, want)
			}
		}
		c.Set("k", 1)
		time.Sleep(time.Second)
		take(1)
		take(2) // no pause after the first failure
		take(2)
		time.Sleep(59 * time.Second)
		take(2)
		time.Sleep(time.Second)
		take(3)
		for n := 3; n < maxTries+3; n++ {
			take(n)
			time.Sleep(2*time.Minute - time.Second)
			take(n)
			time.Sleep(time.Second)
			take(n + 1)
		}
		time.Sleep(2 * time.Minute)
		fails = false
		take(maxTries + 4)
		time.Sleep(time.Second)
		fails = true
		take(maxTries + 5)
		take(maxTries + 6) // the failures are counted anew
	})
}

// TestPauseHasJitter checks that pauses of the user are spread.
func TestPauseHasJitter(t *testing.T) {
	c := Must(Options[string, int]{Jitter: 0.5, RefreshAfter: time.Hour, Pause: func(int) time.Duration { return time.Minute }})
	defer c.Close(t.Context())
	pauses := map[int64]bool{}
	for range 20 {
		now := c.shared.timing.clock.now()
		pause := time.Duration(c.shared.timing.pauseAfter(1)&^marksMask - now)
		if pause < 29*time.Second || pause > 91*time.Second {
			t.Errorf("a pause of %v, want from 30 to 90 s", pause)
		}
		pauses[int64(pause/time.Second)] = true
	}
	if len(pauses) < 5 {
		t.Errorf("20 pauses are of %d lengths", len(pauses))
	}
}

// TestPauseIsChecked checks that New refuses pauses that can only be mistakes.
func TestPauseIsChecked(t *testing.T) {
	for want, pause := range map[string]func(int) time.Duration{
		"Pause(1) returns -1ns: want at least 1ms, or 0 for no pause": func(int) time.Duration { return -1 },
		"Pause(3) returns 3ns: want at least 1ms, or 0 for no pause":  func(n int) time.Duration { return time.Duration(n / 3 * n) },
	} {
		_, err := New(Options[string, int]{Pause: pause})
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrArgument) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
}
