package main

import (
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// openRistretto returns a function that opens a cache which, if wait, waits after each write
// until it has been applied. Clear is left out, as ristretto's documentation forbids other
// calls beside it.
func openRistretto(wait bool) func(config) (*lincheck.Subject, func()) {
	return func(c config) (*lincheck.Subject, func()) {
		r, err := ristretto.NewCache(&ristretto.Config[int, wide]{
			NumCounters:            10 * int64(c.limit),
			MaxCost:                int64(c.limit),
			BufferItems:            64,
			IgnoreInternalCost:     true,
			TtlTickerDurationInSec: 1,
		})
		if err != nil {
			panic(err)
		}
		applied := func() {}
		if wait {
			applied = r.Wait
		}
		set := func(key int, value int64, ttl time.Duration) {
			r.SetWithTTL(key, widen(value, 0), 1, ttl)
			applied()
		}
		s := &lincheck.Subject{
			Get:           func(key int) (int64, bool) { return narrowed(r.Get(key)) },
			Set:           func(key int, value int64) { set(key, value, c.ttl) },
			SetWithExpire: set,
			Remove: func(key int) {
				r.Del(key)
				applied()
			},
			Settle: r.Wait,
		}
		return s, r.Close
	}
}
