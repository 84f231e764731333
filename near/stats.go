package near

import (
	"sync/atomic"
	"time"
)

// Stats is what a [Cache] has done since it was made, and how it is now.
type Stats struct {
	LocalHits  uint64 // answers from here
	RemoteHits uint64 // answers from the store: values, and that there is none
	Loads      uint64 // keys that the store did not have, and that were fetched
	Bypassed   uint64 // calls of fetch because the store could not be asked
	Waits      uint64 // loads that waited for another one, mostly of another instance
	Overtaken  uint64 // values that were fetched and kept nowhere: the key changed meanwhile
	ServedOn   uint64 // answers from here by ServeOn, while the store could not be asked

	StoreErrors  uint64 // calls of the store that failed
	Changes      uint64 // keys that the source told to have changed
	ForgottenAll uint64 // times that the source told that anything may have changed
	Reconnects   uint64 // times that the source lost its connection

	Serving bool          // what is here may be served
	Lag     time.Duration // since the moment up to which the source has vouched; since New if it never has
}

type counts struct {
	remoteHits, loads, bypassed, waits, overtaken, servedOn, storeErrors atomic.Uint64
}

// Stats returns what the cache has done. The numbers are read one after the other, not at
// the same moment.
func (c *Cache[K, V]) Stats() Stats {
	l := c.local
	lag, known := l.link.lag()
	if !known {
		lag = time.Since(l.link.start)
	}
	return Stats{
		LocalHits:  l.cache.Stats().Hits,
		RemoteHits: c.counts.remoteHits.Load(),
		Loads:      c.counts.loads.Load(),
		Bypassed:   c.counts.bypassed.Load(),
		Waits:      c.counts.waits.Load(),
		Overtaken:  c.counts.overtaken.Load(),
		ServedOn:   c.counts.servedOn.Load(),

		StoreErrors:  c.counts.storeErrors.Load(),
		Changes:      l.changes.Load(),
		ForgottenAll: l.forgottenAll.Load(),
		Reconnects:   l.reconnects.Load(),

		Serving: l.link.serves(),
		Lag:     lag,
	}
}
