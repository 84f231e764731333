package near

import (
	"context"
	"time"
)

// A Store has values, as bytes, for all instances of a service. Its methods are safe for
// concurrent use, and end soon after their context does. Their errors mean that the store
// could not be asked, or that it is not known whether it did what it was asked for; never
// that there is no value.
type Store interface {
	// Get reads keys, in as few round trips as there are servers. The items are in the
	// order of keys. An error says nothing about any of them.
	Get(ctx context.Context, keys ...string) ([]Item, error)

	// Set stores an item, a Found or an Absent one, whatever the key had.
	Set(ctx context.Context, key string, item Item) error

	// Del removes keys, and takes away the leases on them.
	Del(ctx context.Context, keys ...string) error
}

// An Item is what a [Store] has for a key. The zero Item is that of a key that it has
// nothing for.
type Item struct {
	State State

	// Value is what was stored, byte by byte, if State is Found. It may be any bytes, or
	// none. Who gets it may keep it, and nobody changes it.
	Value []byte

	// TTL is how long the item lives from now on: of an item that was read, from some
	// moment of the reading. 0 means for ever, or that the store does not know. Of a Leased
	// one it is the time left of the lease.
	TTL time.Duration

	// Token is that of the lease which was taken on a Missing key, by [Leaser.Lease].
	Token string
}

// A State says what kind of an [Item] it is.
type State uint8

const (
	Missing State = iota // the store has nothing for the key
	Found                // it has a value
	Absent               // it has been told that there is no value
	Leased               // it has nothing, and somebody is loading it
)

// A Leaser is a [Store] that gives one caller at a time the right to load a missing key: a
// lease, as in Nishtala et al., Scaling Memcache at Facebook, NSDI 2013. The lease lies in
// the place of the value, so that whoever sets or removes the key, also without knowing
// about leases, takes it away. To take a lease and to give one back are changes of the key,
// which the source may tell.
//
// For Get, and to those who ask for a lease later, such a key is Leased.
type Leaser interface {
	Store

	// Lease is Get, and also takes a lease on each key that is missing. Such an item is
	// Missing and has a Token, which no other lease has. A lease ends by itself after life.
	// If there is an error, none is held: leases that were taken all the same end by
	// themselves.
	Lease(ctx context.Context, life time.Duration, keys ...string) ([]Item, error)

	// Fill stores an item, a Found or an Absent one, if the lease with the token is still
	// there, in one step with the look at it. It reports whether that was so. The lease has
	// ended then.
	Fill(ctx context.Context, key, token string, item Item) (filled bool, err error)

	// Release ends a lease without an item, if it is still there.
	Release(ctx context.Context, key, token string) error
}
