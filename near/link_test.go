package near

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestStoppedProcess has the timer of a link never run, as in a process that was stopped and goes on.
// A strict link reads the clock, so it serves nothing; another one does not, which is what the test
// would not see if it stopped the wrong timer.
func TestStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, strict := range []bool{true, false} {
			var l link
			l.init(time.Second, strict)
			l.opened()
			l.current(time.Now())
			l.timer.Stop()
			time.Sleep(time.Second)
			if !l.serves() {
				t.Errorf("strict %t: serves nothing at MaxLag", strict)
			}
			time.Sleep(time.Nanosecond)
			if l.serves() == strict {
				t.Errorf("strict %t: serves after MaxLag: %t", strict, !strict)
			}
			l.close()
		}
	})
}
