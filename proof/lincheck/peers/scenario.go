package main

import (
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// A scenario is a set of operations and options, so that faults can be told apart.
type scenario struct {
	name  string
	limit int
	ttl   time.Duration
	ops   []lincheck.Kind // besides Get and Set; what the cache lacks is left out
	needs []lincheck.Kind // one of which it must have
	work  lincheck.Workload

	refresh bool // as in config
}

const (
	crowd = 3 // a limit that is always reached
	nap   = 400 * time.Microsecond
	short = 2 * time.Millisecond
)

var ttls = []time.Duration{0, 200 * time.Microsecond, time.Millisecond, short, time.Hour}

// scenarios are the columns of the table.
var scenarios = []scenario{
	{name: "Get, Set", limit: roomy, work: lincheck.Workload{Keys: 3},
		ops: []lincheck.Kind{lincheck.Peek}},
	{name: "Del", limit: roomy, work: lincheck.Workload{Keys: 3},
		ops: []lincheck.Kind{lincheck.Peek, lincheck.Del}},
	{name: "Take", limit: roomy, work: lincheck.Workload{Keys: 3},
		ops: []lincheck.Kind{lincheck.Del, lincheck.Take}, needs: []lincheck.Kind{lincheck.Take}},
	{name: "GetOrSet, Compute", limit: roomy, work: lincheck.Workload{Keys: 3},
		ops: []lincheck.Kind{lincheck.Del, lincheck.GetOrSet, lincheck.Compute}, needs: []lincheck.Kind{lincheck.GetOrSet, lincheck.Compute}},
	{name: "Clear", limit: roomy, work: lincheck.Workload{Keys: 3},
		ops: []lincheck.Kind{lincheck.Peek, lincheck.Del, lincheck.GetOrSet, lincheck.Compute, lincheck.Clear}, needs: []lincheck.Kind{lincheck.Clear}},
	{name: "refresh", limit: roomy, refresh: true, work: lincheck.Workload{Keys: 3},
		ops: []lincheck.Kind{lincheck.Del, lincheck.Take, lincheck.TakeMany}},
	{name: "limit", limit: crowd, work: lincheck.Workload{Keys: 5}, ops: everything},
	{name: "TTL", limit: roomy, ttl: short, work: lincheck.Workload{Keys: 2, Nap: nap, TTLs: ttls},
		ops: []lincheck.Kind{lincheck.Peek, lincheck.Del, lincheck.SetWithExpire, lincheck.Touch, lincheck.GetOrSet, lincheck.Compute}},
	{name: "TTL and limit", limit: crowd, ttl: short, work: lincheck.Workload{Keys: 4, Nap: nap, TTLs: ttls},
		ops: append([]lincheck.Kind{lincheck.SetWithExpire, lincheck.Touch}, everything...)},
}

// everything is all operations except those that need a TTL, and Clear, which some caches
// forbid beside other calls.
var everything = []lincheck.Kind{lincheck.Peek, lincheck.Del, lincheck.Take, lincheck.GetOrSet, lincheck.Compute}

// subject opens a cache with the operations of the scenario, or returns nil if the cache
// cannot take part.
func (sc scenario) subject(c contender) (*lincheck.Subject, func()) {
	if sc.refresh && !c.refreshes {
		return nil, nil
	}
	s, end := c.open(config{limit: sc.limit, ttl: sc.ttl, loads: slices.Contains(sc.ops, lincheck.Take), refresh: sc.refresh})
	if s == nil {
		return nil, nil
	}
	has := len(sc.needs) == 0
	for _, kind := range sc.needs {
		has = has || s.Has(kind)
	}
	if !has {
		end()
		return nil, nil
	}
	return s.Only(append(sc.ops, lincheck.Get, lincheck.Set)), end
}

// promises returns what a cache must keep in the scenario.
func (sc scenario) promises(c contender) lincheck.Promises {
	return lincheck.Promises{Evicts: sc.limit != roomy, Expire: sc.ttl, Retries: c.retries}
}

// A result is the outcome of a contender in a scenario, without a survey if it cannot take
// part.
type result struct {
	contender, scenario string
	*lincheck.Survey
}

// run checks a contender while more returns true, or runs its own check to the end.
func (sc scenario) run(c contender, seed uint64, more func(number int) bool) result {
	r := result{contender: c.name, scenario: sc.name}
	if c.expiry != nil && sc.ttl > 0 {
		if sc.limit == roomy {
			r.Survey = c.expiry(seed)
		}
		return r
	}
	s, end := sc.subject(c)
	if s == nil {
		return r
	}
	defer end()
	r.Survey = &lincheck.Survey{Promises: sc.promises(c)}
	r.Run(s, sc.work, seed, more)
	return r
}
