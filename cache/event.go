// This file has the causes of removal, and the events of OnRemove. A new cause begins here. Then come
// shard.removals, removal.go, stats.go, and the Removals and metrics of package stats.

package cache

import (
	"fmt"
)

// An Event describes a value that left the cache.
type Event[K comparable, V any] struct {
	Key   K
	Value V
	Cause Cause
}

// A Cause says why a value left the cache.
type Cause uint8

const (
	Expired  Cause = iota + 1 // its deadline passed, or it was idle for too long
	Evicted                   // the cache was full
	Deleted                   // Del, DelFunc, Compute or a negative TTL removed the key
	Replaced                  // another value was stored for the key
	Cleared                   // Clear or Close emptied the cache
)

var causes = [...]string{Expired: "expired", Evicted: "evicted", Deleted: "deleted", Replaced: "replaced", Cleared: "cleared"}

// String returns the cause in lower case, such as "expired".
func (c Cause) String() string {
	if c == 0 || int(c) >= len(causes) {
		return fmt.Sprintf("Cause(%d)", uint8(c))
	}
	return causes[c]
}

// backlog is how many events may wait for OnRemove before removers wait.
const backlog = 4096
