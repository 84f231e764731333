package stats

import "time"

// Near has the counts of a near cache that other caches lack. The entries of a near cache
// are copies of values in a store for all instances of a service; a source tells which of
// them change. In the [Snapshot] of any other cache Near is zero.
type Near struct {
	RemoteHits uint64 // answers of the store: a value, or that there is none
	Fetches    uint64 // keys that the store did not have and that were fetched
	Bypasses   uint64 // fetches while the store could not be asked
	Waits      uint64 // loads that waited for another load, mostly of another instance
	Overtaken  uint64 // fetched values that are kept nowhere, as the key changed meanwhile
	Unserved   uint64 // gets while nothing could be served from memory; they are among Misses
	ServedOn   uint64 // of those, gets that got a value from memory, as the store could not be asked

	StoreErrors  uint64 // calls of the store that failed
	Changes      uint64 // changes of keys that the source told
	ForgottenAll uint64 // how often the source told that any key may have changed
	Reconnects   uint64 // how often the source lost its connection

	Serving bool          // gauge: values in memory may be served
	Lag     time.Duration // gauge: time since the moment for which the source has vouched; since the cache was made if it never has
	MaxLag  time.Duration // gauge: with a longer Lag nothing is served from memory; never 0 in a near cache
}

// exists reports whether the cache is a near cache.
func (n *Near) exists() bool { return n.MaxLag > 0 }

func (n Near) minus(earlier Near) Near {
	n.RemoteHits = less(n.RemoteHits, earlier.RemoteHits)
	n.Fetches = less(n.Fetches, earlier.Fetches)
	n.Bypasses = less(n.Bypasses, earlier.Bypasses)
	n.Waits = less(n.Waits, earlier.Waits)
	n.Overtaken = less(n.Overtaken, earlier.Overtaken)
	n.Unserved = less(n.Unserved, earlier.Unserved)
	n.ServedOn = less(n.ServedOn, earlier.ServedOn)
	n.StoreErrors = less(n.StoreErrors, earlier.StoreErrors)
	n.Changes = less(n.Changes, earlier.Changes)
	n.ForgottenAll = less(n.ForgottenAll, earlier.ForgottenAll)
	n.Reconnects = less(n.Reconnects, earlier.Reconnects)
	return n
}

// A jsonNear is the Near of a cache since it was made, or of a point.
type jsonNear struct {
	RemoteHits   uint64  `json:"remote_hits"`
	Fetches      uint64  `json:"fetches"`
	Bypasses     uint64  `json:"bypasses"`
	Waits        uint64  `json:"waits"`
	Overtaken    uint64  `json:"overtaken"`
	Unserved     uint64  `json:"unserved"`
	ServedOn     uint64  `json:"served_on"`
	StoreErrors  uint64  `json:"store_errors"`
	Changes      uint64  `json:"changes"`
	ForgottenAll uint64  `json:"forgotten_all"`
	Reconnects   uint64  `json:"reconnects"`
	Serving      bool    `json:"serving"`
	Lag          float64 `json:"lag_seconds"`
	MaxLag       float64 `json:"max_lag_seconds"`
}

// newJSONNear returns nil if the cache is not a near cache.
func newJSONNear(n Near) *jsonNear {
	if !n.exists() {
		return nil
	}
	return &jsonNear{
		RemoteHits:   n.RemoteHits,
		Fetches:      n.Fetches,
		Bypasses:     n.Bypasses,
		Waits:        n.Waits,
		Overtaken:    n.Overtaken,
		Unserved:     n.Unserved,
		ServedOn:     n.ServedOn,
		StoreErrors:  n.StoreErrors,
		Changes:      n.Changes,
		ForgottenAll: n.ForgottenAll,
		Reconnects:   n.Reconnects,
		Serving:      n.Serving,
		Lag:          n.Lag.Seconds(),
		MaxLag:       n.MaxLag.Seconds(),
	}
}

// nearTrouble says what keeps a near cache from serving, or from its store.
func nearTrouble(n *Near, now period, say func(cause, format string, args ...any)) (trouble bool) {
	if n.exists() && !n.Serving && n.Lag > n.MaxLag {
		trouble = true
		say(sourceSilent, "Nothing is served from memory: the source of changes has vouched for nothing for %s. Each get asks the store.", span(n.Lag))
	}
	if now.storeErrors >= 5 {
		trouble = true
		say(storeFails, "The store fails: %d calls of it in the last minute, and %d fetches went past it.", now.storeErrors, now.bypasses)
	}
	return trouble
}
