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
