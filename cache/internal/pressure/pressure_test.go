package pressure

import (
	"testing"
	"testing/synctest"
)

// A listed holder holds less than it may at most, and tells what it may hold from now on.
type listed struct {
	holds chan uint64
}

func (l listed) Held() (now, may, most uint64) { return 1, 1, 100 }
func (l listed) Hold(most uint64)              { l.holds <- most }

// TestStuckHolder has one holder that does not return from Hold, as OnRemove of its cache does
// not return.
//
// Catches: others that do not grow back meanwhile; a goroutine at each look for the one that is
// stuck; one that is not asked again later; holders that stay small when there is no limit.
func TestStuckHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, other := listed{make(chan uint64)}, listed{make(chan uint64)}
		w := &watcher{}
		for _, h := range []listed{stuck, other} {
			w.holders = append(w.holders, &registration{holder: func() Holder { return h }})
		}
		// told checks how many goroutines tell l what it may hold.
		told := func(l listed, want int) {
			t.Helper()
			synctest.Wait()
			got := 0
			for more := true; more; synctest.Wait() {
				select {
				case hold := <-l.holds:
					got++
					if hold != 100 {
						t.Errorf("it may hold %d, want all, as there is no GOMEMLIMIT", hold)
					}
				default:
					more = false
				}
			}
			if got != want {
				t.Errorf("told %d times, want %d", got, want)
			}
		}
		for range 3 {
			w.look()
			told(other, 1)
		}
		told(stuck, 1)
		w.look()
		told(stuck, 1)
		told(other, 1)
	})
}
