package near

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A lookup is what a load finds out about one key.
type lookup[K comparable, V any] struct {
	key     K
	text    string // the key in the store
	load    *cache.Load[V]
	fetched bool // a function was called for it
	vouched bool // the source tells of every change since the load began
	phantom bool // the database cannot have it: see Options.MayExist
	anew    bool // no value of before stands in
	stoodIn bool // one did

	item    Item      // what the store has
	began   time.Time // when the reading of item began, or the fetch
	removed bool      // its value could not be decoded, and was removed from the store

	value  V
	err    error
	none   bool          // err means that the database has no value, whatever it is: see isNone
	gone   bool          // err is one of its own with which a load said Gone
	expire time.Duration // the TTL of value in the store; negative: it is kept nowhere

	unshared func() // ends what unshareLater has begun; nil: nothing

	kept    bool          // in memory, with inStore and stored: see keepInMemory
	inStore time.Duration // 0: for ever
	stored  time.Time
	briefly bool // for MaxLag, whatever happens to the key
	pauses  bool // its error is kept for MaxLag, to spare the database
}

func (one *lookup[K, V]) keyInStore() string { return one.text }

func (c *Cache[K, V]) lookup(key K, l *cache.Load[V]) *lookup[K, V] {
	return &lookup[K, V]{
		key: key, text: c.local.key(key), load: l,
		vouched: l.Expire >= 0, phantom: c.mayExist != nil && !c.mayExist(key), expire: c.expire,
	}
}

// keepInMemory lets the result of a lookup stay in memory. The store has had it for the time
// inStore since stored; 0 means for ever.
func (one *lookup[K, V]) keepInMemory(inStore time.Duration, stored time.Time) {
	one.kept, one.inStore, one.stored = true, inStore, stored
}

// keepBriefly lets what the store does not have stay in memory for MaxLag from when the fetch began, or for its
// TTL if that is less.
func (one *lookup[K, V]) keepBriefly(maxLag time.Duration) {
	if one.err == nil && one.expire > 0 {
		maxLag = min(one.expire, maxLag)
	}
	one.briefly = true
	one.keepInMemory(maxLag, one.began)
}

// outcome says where the result of a lookup is from. none: there is no value.
func (one *lookup[K, V]) outcome(none bool) string {
	switch {
	case none:
		return "not_found"
	case one.stoodIn:
		return "served_on"
	case one.fetched:
		return "fetched"
	case one.err != nil:
		return ""
	}
	return "found"
}

// awaited says what the store has when the wait for a lease is over.
func (one *lookup[K, V]) awaited() string {
	switch one.item.State {
	case Found, Broken:
		return "found"
	case Absent:
		return "not_found"
	}
	return "in_vain"
}

// texts returns the keys in the store.
func texts[K comparable, V any](all []*lookup[K, V]) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.text
	}
	return texts
}
