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
	Recent     uint64 // of those, gets that got what was loaded less than MaxLag before

	StoreErrors  uint64 // calls of the store that failed
	StoreSpared  uint64 // calls of the store that were not made, as it did not answer others
	Changes      uint64 // changes of keys that the source told
	ForgottenAll uint64 // how often the source told that any key may have changed
	Reconnects   uint64 // how often the source lost its connection

	Polls        uint64 // answers that the source got to its questions what has changed, if it asks
	SourceErrors uint64 // failures of the source, such as a question without an answer
	Backlog      int    // gauge: transactions since the oldest one that is still open, if the source counts them
	Restored     uint64 // how often the server of the source came back with values from a snapshot, if the source looks

	RoundTrip time.Duration // gauge: how long the last question of the source took, if it measures that

	Notified  bool          // gauge: keyspace notifications of Redis tell of changes, as it does not track
	StoreAway bool          // gauge: the store does not answer, and one call at a time tries it
	Serving   bool          // gauge: values in memory may be served
	Lag       time.Duration // gauge: time since the moment for which the source has vouched; since the cache was made if it never has
	MaxLag    time.Duration // gauge: with a longer Lag nothing is served from memory; never 0 in a near cache
}

// exists reports whether the cache is a near cache.
func (n *Near) exists() bool { return n.MaxLag > 0 }

// longBacklog is how many transactions begin while one is open for too long.
const longBacklog = 100_000

// nearTrouble says what keeps a near cache from serving, or from its store.
func nearTrouble(n *Near, now period, say func(cause, format string, args ...any)) (trouble bool) {
	if n.exists() && !n.Serving && n.Lag > n.MaxLag {
		trouble = true
		say(sourceSilent, "Nothing is served from memory: the source of changes has vouched for nothing for %s. Each get asks the store.", span(n.Lag))
	}
	if n.exists() && 2*n.RoundTrip > n.MaxLag {
		say(maxLagShort, "A question of the source takes %s, and MaxLag is %s: values in memory are served only part of the time. Give MaxLag at least twice as long as a question takes.", span(n.RoundTrip), span(n.MaxLag))
	}
	if now.restored > 0 {
		say(storeRestored, "The store came back from a snapshot: what was removed since that was saved is back, until its TTL ends. Remove it again, or all, if that matters.")
	}
	if n.Notified {
		say(noTracking, "Redis refuses CLIENT TRACKING, so its keyspace notifications tell of changes: each change costs a message more, FLUSHALL is noticed later, and nothing is served from memory while it refuses all writes. See Without tracking in the documentation of near/redis.")
	}
	if n.Backlog >= longBacklog {
		say(openTransaction, "A transaction of the database has been open while %d others began. Old changes are kept until it ends.", n.Backlog)
	}
	if n.StoreAway {
		trouble = true
		say(storeFails, "The store does not answer: one call at a time tries it, and all others go past it, %d fetches in the last minute.", now.bypasses)
	} else if now.storeErrors >= 5 {
		trouble = true
		say(storeFails, "The store fails: %d calls of it in the last minute, and %d fetches went past it.", now.storeErrors, now.bypasses)
	}
	return trouble
}
