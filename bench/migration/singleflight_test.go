package migration

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A result is stored here, and not there.
func TestSingleflightKeepsNothing(t *testing.T) {
	var g singleflight.Group
	p := pinwheel(t, cache.Options[string, int]{})
	there, here := 0, 0
	for range 2 {
		g.Do("k", func() (any, error) { there++; return 1, nil })
		must(p.Take("k", func() (int, error) { here++; return 1, nil }))
	}
	want(t, "singleflight: calls", there, 2)
	want(t, "ours: calls", here, 1)
}

// A panic reaches all callers there. Here it reaches the caller whose function panicked, and
// the others get an error.
func TestSingleflightPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g singleflight.Group
		p := pinwheel(t, cache.Options[string, int]{})
		// joins joins a call that panics, and returns whether that caller panics too, or its error.
		joins := func(call func(f func()) error) (panicked bool, err error) {
			go func() {
				defer func() { recover() }()
				call(func() { time.Sleep(time.Second); panic("oh") })
			}()
			synctest.Wait()
			defer func() { panicked = recover() != nil }()
			return false, call(func() {})
		}
		panicked, _ := joins(func(f func()) error {
			_, err, _ := g.Do("k", func() (any, error) { f(); return 1, nil })
			return err
		})
		want(t, "singleflight: who joined panics", panicked, true)

		panicked, err := joins(func(f func()) error {
			_, err := p.Take("k", func() (int, error) { f(); return 1, nil })
			return err
		})
		var failed *cache.PanicError
		want(t, "ours: who joined panics", panicked, false)
		want(t, "ours: who joined gets a PanicError", errors.As(err, &failed), true)
	})
}

// After Forget or Del the next caller does not join the call under way. Here the result of
// that call is not stored either; a map beside singleflight would store it.
func TestSingleflightForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g singleflight.Group
		p := pinwheel(t, cache.Options[string, int]{})
		slow := func() int { time.Sleep(time.Second); return 1 }
		go g.Do("k", func() (any, error) { return slow(), nil })
		go p.Take("k", func() (int, error) { return slow(), nil })
		synctest.Wait()
		g.Forget("k")
		p.Del("k")
		began := time.Now()
		v, _, _ := g.Do("k", func() (any, error) { return 2, nil })
		want(t, "singleflight: after Forget", v.(int), 2)
		want(t, "ours: after Del", must(p.Take("k", func() (int, error) { return 2, nil })), 2)
		want(t, "both: the wait for the call under way", time.Since(began), 0)
		time.Sleep(time.Second)
		want(t, "ours: kept", value(p.Get("k")), 2)
	})
}
