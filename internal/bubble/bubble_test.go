package bubble

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSideOf(t *testing.T) {
	outside := time.Now()
	var inside time.Time
	synctest.Test(t, func(t *testing.T) {
		inside = time.Now().Add(-time.Hour)
		if got := SideOf(inside); got != Home {
			t.Errorf("in the bubble of the time: %d, want Home", got)
		}
		if got := SideOf(outside); got != Entered {
			t.Errorf("in a bubble, with a time from outside: %d, want Entered", got)
		}
		time.Sleep(200 * 365 * 24 * time.Hour)
		if got := SideOf(inside); got != Home {
			t.Errorf("200 years later: %d, want Home", got)
		}
		if got := SideOf(outside); got != Entered {
			t.Errorf("200 years later, with a time from outside: %d, want Entered", got)
		}
	})
	if got := SideOf(inside); got != Left {
		t.Errorf("outside, with a time from a bubble: %d, want Left", got)
	}
	if got := SideOf(outside.Add(-time.Hour)); got != Home {
		t.Errorf("outside, with a time from there: %d, want Home", got)
	}
}
