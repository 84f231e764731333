package near

import (
	"context"
	"time"
)

// A Store keeps values, as bytes, for all instances of a service. Its methods are safe for
// concurrent use, and return soon after their context has ended. Their errors mean that the
// store could not be asked, or that a change may or may not have happened; never that there
// is no value.
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
	// know. A negative TTL is that of a Found item in its Grace: it ended that long ago.
	TTL time.Duration

	// Due is how long before the end of its TTL a Found item is to be loaded anew, and Grace
	// for how long after that it stays, to stand in while it is loaded anew or that fails. Both
	// are 0 for an item without a TTL. A store may ignore both: its items end with their TTL.
	Due, Grace time.Duration

	// Token identifies the lease that [Leaser.Lease] took on a Missing key, or on that of a
	// Found item that is due or in its Grace.
	Token string

	// Holder is the Token of the lease that another caller has on the key, or "" if the store
	// does not tell: then callers that wait take the next lease on a Leased key for the same one.
	// It is Paused if the lease on a Found item was released.
	Holder string

	// Groups are those of a Found item, with the generations that they had when it was stored.
	// Only a [Grouper] keeps them.
	Groups []Membership
}

// Paused is the Holder of a lease on a Found item that was released: nobody loads the item, and
// nobody is to before the lease ends, as the load has just failed.
const Paused = "!"

// inGrace reports whether the TTL of an item has ended.
func (i Item) inGrace() bool { return i.State == Found && i.TTL < 0 }

// isHeld reports whether another caller loads an item.
func (i Item) isHeld() bool { return i.Holder != "" && i.Holder != Paused }

// isDue reports whether an item is to be loaded anew.
func (i Item) isDue() bool { return i.State == Found && i.TTL != 0 && i.TTL <= i.Due }

// A State is the kind of an [Item].
type State uint8

const (
	Missing State = iota // the store has nothing for the key
	Found                // it has a value
	Absent               // it knows that there is no value
	Leased               // it has nothing, and another caller has the lease
)

// A Leaser is a [Store] that gives one caller at a time the right to load a missing key: a
// lease, as in Nishtala et al., Scaling Memcache at Facebook, NSDI 2013. The lease is stored
// in place of the value, so any program that sets or removes the key ends it, even if it
// knows nothing of leases. Taking and releasing a lease are changes of the key, which the
// source may tell.
//
// For Get, and for later calls of Lease, such a key is Leased.
//
// If the store keeps the Due and the Grace of items, Lease also takes a lease on a Found item that is
// due or in its Grace: one caller at a time gets it with a Token. Get, and later calls of
// Lease, return the item with the Holder, until the lease has ended. Such a lease is stored
// beside the value: any change of the key ends it too.
type Leaser interface {
	Store

	// Lease is Get, and also takes a lease on each missing key. Its item is Missing and has a
	// Token that no other lease has, or none if the store cannot write now. A lease ends by
	// itself after life. With an error the caller holds no lease; any that were taken end by
	// themselves.
	Lease(ctx context.Context, life time.Duration, keys ...string) ([]Item, error)

	// Fill stores a Found or Absent item if the lease with the token still holds. It checks
	// and stores in one atomic step, which ends the lease, and reports whether it stored.
	Fill(ctx context.Context, key, token string, item Item) (filled bool, err error)

	// Release ends a lease, if it still holds, without storing an item. A lease on a Found item
	// goes on without a holder, Paused.
	Release(ctx context.Context, key, token string) error
}
