package bubble

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestIn checks what the package depends on, which a new version of Go may change: the monotonic
// readings, and that a clock from outside shows a negative time in a bubble, and one from a bubble
// more than 20 years outside.
func TestIn(t *testing.T) {
	outside := time.Now()
	if In() || Read(outside.Add(time.Hour)) {
		t.Error("outside: a time without a monotonic reading")
	}
	var inside time.Time
	synctest.Test(t, func(t *testing.T) {
		inside = time.Now()
		if !In() || !Read(inside.Add(time.Hour)) || Read(outside) {
			t.Error("in a bubble: a time with a monotonic reading, or one from outside without")
		}
		if d := time.Since(outside); d >= 0 {
			t.Errorf("in a bubble, since a time outside: %v", d)
		}
		started := make(chan bool)
		go func() { started <- In() }()
		if !<-started {
			t.Error("not in a bubble, in a goroutine that it started")
		}
	})
	if d := time.Since(inside); d < 20*365*24*time.Hour {
		t.Errorf("outside, since a time in a bubble: %v", d)
	}
}
