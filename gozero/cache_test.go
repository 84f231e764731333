package gozero_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestShutdownCloses checks that the end of the service closes the caches: they are empty,
// OnRemove has got all entries, and they can still be used.
func TestShutdownCloses(t *testing.T) {
	var causes []cache.Cause
	c := gozero.MustNewCache(gozero.Conf{Name: "users", Limit: 10}, func(o *cache.Options[string, int]) {
		o.OnRemove = func(e cache.Event[string, int]) { causes = append(causes, e.Cause) }
		o.Workers = 1
	})
	c.Set("a", 1)
	gozero.CloseAll()
	if want := []cache.Cause{cache.Cleared}; !slices.Equal(causes, want) {
		t.Errorf("OnRemove got %v, want %v", causes, want)
	}
	if names := names(); slices.Contains(names, "users") {
		t.Errorf("still registered: %v", names)
	}
	if v, err := c.Take("a", func() (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("Take gives %d, %v", v, err)
	}
}

// TestShutdownWaitsForLoads checks that the end waits for a load, so that main does not close
// the database during it.
func TestShutdownWaitsForLoads(t *testing.T) {
	c := gozero.MustNewCache[string, int](gozero.Conf{Name: "users", Limit: 10})
	begun, end := make(chan struct{}), make(chan struct{})
	ended := false
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		_, _ = c.Take("a", func() (int, error) {
			close(begun)
			<-end
			ended = true
			return 1, nil
		})
	}()
	<-begun
	through := make(chan struct{})
	go func() {
		defer close(through)
		gozero.CloseAll()
		if !ended {
			t.Error("it is through, and the load is not")
		}
	}()
	for slices.Contains(names(), "users") { // until the listener closes it
		runtime.Gosched()
	}
	close(end)
	<-through
	<-taken
}

// TestShutdownIsBounded checks that the end does not wait for ever.
func TestShutdownIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gozero.FreshLog()
		j := newJournal(t)
		c := gozero.MustNewCache[string, int](gozero.Conf{Name: "users", Limit: 10})
		end := make(chan struct{})
		go func() { _, _ = c.Take("a", func() (int, error) { <-end; return 1, nil }) }()
		synctest.Wait()
		begin := time.Now()
		gozero.CloseAll()
		if took := time.Since(begin); took != 4*time.Second {
			t.Errorf("it took %v", took)
		}
		if lines := j.take(); len(lines) != 1 || lines[0].Level != "error" || !strings.Contains(lines[0].Content, "cache(users)") {
			t.Errorf("logged %v", lines)
		}
		close(end)
		time.Sleep(time.Minute) // the log ends
		synctest.Wait()
	})
}

// TestShutdownHoldsNothing checks that the list of caches to close keeps none alive.
func TestShutdownHoldsNothing(t *testing.T) {
	gozero.ForgetAll() // those of other tests, which are collected at any time
	c := gozero.MustNewCache[string, int](gozero.Conf{Name: "users", Limit: 10})
	w := weak.Make(c)
	if n := gozero.ToClose(); n != 1 {
		t.Errorf("%d caches are to be closed, want 1", n)
	}
	runtime.KeepAlive(c)
	for deadline := time.Now().Add(time.Minute); gozero.ToClose() > 0; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("it is not forgotten")
		}
	}
	if w.Value() != nil {
		t.Error("it is not collected")
	}
}

func TestPanicIsLogged(t *testing.T) {
	j := newJournal(t)
	c := closed(t, gozero.MustNewCache(gozero.Conf{Name: "users", Limit: 10}, func(o *cache.Options[string, int]) {
		o.OnRemove = func(cache.Event[string, int]) { panic("oh") }
	}))
	c.Set("a", 1)
	c.Del("a")
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := j.take()
	if len(lines) != 1 || lines[0].Level != "error" || !strings.HasPrefix(lines[0].Content, "cache(users) - OnRemove or a load in the background panicked: oh\n") ||
		!strings.Contains(lines[0].Content, "TestPanicIsLogged") {
		t.Errorf("logged %v", lines)
	}
}

func TestPanicGoesToOnPanic(t *testing.T) {
	j := newJournal(t)
	var told any
	c := closed(t, gozero.MustNewCache(gozero.Conf{Name: "users", Limit: 10}, func(o *cache.Options[string, int]) {
		o.OnRemove = func(cache.Event[string, int]) { panic("oh") }
		o.OnPanic = func(recovered any, _ []byte) { told = recovered }
	}))
	c.Set("a", 1)
	c.Del("a")
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lines := j.take(); told != "oh" || len(lines) != 0 {
		t.Errorf("told %v, logged %v", told, lines)
	}
}

// names returns the names of all caches of the process.
func names() (names []string) {
	for _, c := range stats.Caches() {
		names = append(names, c.Name)
	}
	return names
}
