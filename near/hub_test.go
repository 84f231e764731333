package near

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Catches: a second watcher that hears nothing, starts a second connection or ends the first, a
// connection that goes on without watchers, and the MaxLag of another watcher.
func TestHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, running := 0, 0
		h := NewHub(func(ctx context.Context) {
			runs, running = runs+1, running+1
			<-ctx.Done()
			running--
		})
		watch := func(w Watcher) (leave func()) {
			ctx, stop := context.WithCancel(t.Context())
			go h.Watch(ctx, w)
			synctest.Wait()
			return func() { stop(); synctest.Wait() }
		}
		first, second := &hearer{}, &hearer{}
		leaveFirst := watch(first)
		leaveSecond := watch(second)
		h.Tell(func(w Watcher) { w.Changed("a"); w.Current(time.Now()) })
		synctest.Wait()
		for _, w := range []*hearer{first, second} {
			if want := []string{"all", "[a]", "current"}; !slices.Equal(w.log, want) {
				t.Errorf("told %v, want %v", w.log, want)
			}
		}
		if got := h.MaxLag(); got != defaultMaxLag {
			t.Errorf("MaxLag %v of watchers that do not say", got)
		}
		leaveThird := watch(lagging{&hearer{}, time.Minute / 1000})
		if got := h.MaxLag(); got != time.Minute/1000 {
			t.Errorf("MaxLag %v, want the least", got)
		}
		leaveThird()
		leaveFirst()
		if runs != 1 || running != 1 {
			t.Errorf("with a watcher: began %d times, %d run", runs, running)
		}
		leaveSecond()
		if running != 0 {
			t.Error("runs without watchers")
		}
		watch(first)()
		if runs != 2 || running != 0 {
			t.Errorf("after another watcher: began %d times, %d run", runs, running)
		}
	})
}

type lagging struct {
	Watcher
	maxLag time.Duration
}

func (l lagging) MaxLag() time.Duration { return l.maxLag }
