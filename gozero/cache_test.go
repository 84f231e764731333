package gozero_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestShutdownWaitsForLoads checks that the end waits for a load, so that main does not close
// the database during it.
func TestShutdownWaitsForLoads(t *testing.T) {
	c := limited("users")
	begun, end := make(chan struct{}), make(chan struct{})
	ended := false
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = c.Take(1, func() (int, error) {
			close(begun)
			<-end
			ended = true
			return 1, nil
		})
	})
	<-begun
	wg.Go(func() {
		gozero.CloseAll()
		if !ended {
			t.Error("it is through, and the load is not")
		}
	})
	for slices.Contains(names(), "users") { // until the listener closes it
		runtime.Gosched()
	}
	close(end)
	wg.Wait()
}

// TestShutdownIsBounded checks that the end does not wait for ever.
func TestShutdownIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freshLog()
		j := newJournal(t)
		c := limited("users")
		end := make(chan struct{})
		go func() { _, _ = c.Take(1, func() (int, error) { <-end; return 1, nil }) }()
		synctest.Wait()
		begin := time.Now()
		gozero.CloseAll()
		if took := time.Since(begin); took != 4*time.Second {
			t.Errorf("it took %v", took)
		}
		j.logged("error", "cache(users)")
		close(end)
		pass(time.Minute) // the log ends
	})
}

// TestShutdownHoldsNothing checks that the list of caches to close keeps none alive, nor does
// SnapshotEvery.
func TestShutdownHoldsNothing(t *testing.T) {
	saved, _ := kept(t, "SnapshotEvery: 1h")
	for _, conf := range []gozero.Conf{{Name: "users", Limit: 10}, saved} {
		c := gozero.MustNewCache[string, int](conf)
		w, before := weak.Make(c), gozero.ToClose()
		runtime.KeepAlive(c)
		if !settle.Collected(func() bool { return w.Value() == nil && gozero.ToClose() < before }) {
			t.Fatal("it is not collected, or not forgotten")
		}
	}
}

func TestPanicIsLogged(t *testing.T) {
	for _, own := range []bool{false, true} { // with an OnPanic of its own
		j := newJournal(t)
		var told any
		c := closed(t, gozero.MustNewCache(gozero.Conf{Name: "users", Limit: 10}, func(o *cache.Options[string, int]) {
			o.OnRemove = func(cache.Event[string, int]) { panic("oh") }
			if own {
				o.OnPanic = func(recovered any, _ []byte) { told = recovered }
			}
		}))
		c.Set("a", 1)
		c.Del("a")
		must(t, c.Close(t.Context()))
		if own {
			j.logged("")
		} else {
			j.logged("error", "cache(users) - OnRemove or a load in the background panicked: oh\n", "TestPanicIsLogged")
		}
		if own != (told == "oh") {
			t.Errorf("OnPanic was told %v", told)
		}
	}
}

// names returns the names of all caches of the process.
func names() (names []string) {
	for _, c := range stats.Caches() {
		names = append(names, c.Name)
	}
	return names
}
