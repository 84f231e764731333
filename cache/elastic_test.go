package cache_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func elastic() *cache.Cache[int, []byte] {
	return cache.Must(cache.Options[int, []byte]{
		MaxWeight: 100 << 20, Weigh: cache.SizeOf[int, []byte], Elastic: true,
	})
}

// fillElastic stores values for 100 MB.
func fillElastic(c *cache.Cache[int, []byte]) {
	for i := range 100 << 10 {
		c.Set(i, make([]byte, 1024-100))
	}
}

// TestElastic runs with a GOMEMLIMIT. Other memory comes, and goes.
//
// Catches: a cache that does not yield, or does not come back; one that does so after Close, or
// that is kept from being collected.
func TestElastic(t *testing.T) {
	if os.Getenv("TEST_ALONE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestElastic$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_ALONE=TestElastic", "GOMEMLIMIT=256MiB")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	c := elastic()
	fillElastic(c)
	// until runs cycles of the collector until the limit is as wanted.
	until := func(want string, is func(limit uint64) bool) {
		t.Helper()
		for range 1000 {
			if is(c.Stats().MaxWeight) {
				return
			}
			runtime.GC()
			time.Sleep(time.Millisecond) // the look is in a goroutine of its own
		}
		t.Fatalf("the limit is %d, want %s", c.Stats().MaxWeight, want)
	}
	until("as set", func(limit uint64) bool { return limit == 100<<20 })
	other := make([]byte, 160<<20)
	for i := range other {
		other[i] = 1
	}
	until("less", func(limit uint64) bool { return limit < 70<<20 })
	if s := c.Stats(); s.Weight > s.MaxWeight {
		t.Errorf("the cache holds %d, the limit is %d", s.Weight, s.MaxWeight)
	}
	runtime.KeepAlive(other)
	other = nil
	until("as set", func(limit uint64) bool { return limit == 100<<20 })

	if err := c.ResizeWeight(50 << 20); err != nil {
		t.Error(err)
	}
	for range 10 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if got := c.Stats().MaxWeight; got > 50<<20 {
			t.Errorf("after ResizeWeight the limit is %d", got)
		}
	}
	collected := make(chan struct{})
	runtime.AddCleanup(c, func(c chan struct{}) { close(c) }, collected)
	c = nil
	for {
		select {
		case <-collected:
			return
		case <-time.After(time.Millisecond):
			runtime.GC()
		}
	}
}

// TestElasticHolds checks what there is nothing to yield for: no GOMEMLIMIT, or a bubble.
func TestElasticHolds(t *testing.T) {
	c := elastic()
	c.Set(1, make([]byte, 100))
	runtime.GC()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := elastic()
		c.Set(1, make([]byte, 100))
		runtime.GC()
		if got := c.Stats().MaxWeight; got != 100<<20 {
			t.Errorf("the limit is %d", got)
		}
		if err := c.ResizeWeight(50 << 20); err != nil {
			t.Error(err)
		}
	})
}
