package near

import (
	"context"
	"time"
)

// A Store keeps values, as bytes, for all instances of a service. Its methods are safe for
// concurrent use, and return soon after their context has ended. Their errors mean that the
// store could not be asked, or that a change may or may not have happened; never that there
// is no value.
//
// It may also be a [Leaser] and a [Sharded].
type Store interface {
	// Get reads keys, in as few round trips as there are servers. The items are in the
	// order of keys. An error says nothing about any of them.
	Get(ctx context.Context, keys ...string) ([]Item, error)

	// Set stores a Found or Absent item, whatever the key had.
	Set(ctx context.Context, key string, item Item) error

	// Del removes keys, and ends the leases on them.
	Del(ctx context.Context, keys ...string) error
}

// An Item is what a [Store] has for a key. The zero Item is that of a missing key.
type Item struct {
	State State

	// Value is what was stored, byte by byte, if State is Found. It may be empty. A caller
	// may keep it; nobody may change it.
	Value []byte

	// TTL is how long the item still lives, or the lease of a Leased item; for an item that
	// was read, as of some moment of the reading. 0 means for ever, or that the store does not
	// know.
	TTL time.Duration

	// Token identifies the lease: that which [Leaser.Lease] took on a Missing key, or that on a
	// Leased key.
	Token string
}

// A State is the kind of an [Item].
type State uint8

const (
	Missing State = iota // the store has nothing for the key
	Found                // it has a value
	Absent               // it knows that there is no value
	Leased               // it has nothing, and another caller has the lease
	Broken               // it has something that is no item, which is removed and loaded anew
)

// A Sharded is a [Store] of several servers. Each call is for keys of one of them, and one that
// does not answer does not keep callers from the others.
type Sharded interface {
	// Server returns the number of the server that has a key. The first is 0.
	Server(key string) int
}

// A Leaser is a [Store] that gives one caller at a time the right to load a missing key: a
// lease, as in Nishtala et al., Scaling Memcache at Facebook, NSDI 2013. The lease is stored
// in place of the value, so any program that sets or removes the key ends it, even if it
// knows nothing of leases. Taking and releasing a lease are changes of the key, which the
// source may tell.
//
// For Get, and for later calls of Lease, such a key is Leased.
type Leaser interface {
	Store

	// Lease is Get, and also takes a lease on each missing key. Its item is Missing and has a
	// Token that no other lease has. A lease ends by itself after life. With an error the
	// caller holds no lease; any that were taken, also by a call whose context has ended, should
	// be released.
	Lease(ctx context.Context, life time.Duration, keys ...string) ([]Item, error)

	// Fill stores a Found or Absent item if the lease with the token still holds. It checks
	// and stores in one atomic step, which ends the lease, and reports whether it stored.
	Fill(ctx context.Context, key, token string, item Item) (filled bool, err error)

	// Release ends a lease, if it still holds, without storing an item.
	Release(ctx context.Context, key, token string) error
}
