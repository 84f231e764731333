// Package near keeps a cache in every instance of a service true to one store that all of
// them share, such as Redis.
//
// Each instance keeps the values of the keys that it requests most in its own memory, as in
// a cache.Cache. A [Store] has the values for the whole fleet, as bytes. A [Source] tells
// each instance which keys of the store change, and confirms from time to time that it
// has reported all changes up to a moment. An instance keeps values in its memory while that
// moment is at most MaxLag ago. Otherwise it keeps each value for MaxLag after its load began; with
// Options.ServeOn longer, while the store cannot be asked.
//
// # What a Source and a Store must promise
//
// All promises of this package rest on these:
//
//   - The source tells of every change of a key that it covers, in the order in which they
//     happen in the store: by Changed, or, where it cannot tell them one by one, by
//     ChangedAll. Removal and expiry are changes.
//   - Changed comes when the change can be read, by whatever the loads read: a database may write a
//     change to its log before anybody can read it, and a load in between would keep what was before.
//   - Current(asOf) comes after the Changed of everything that changed before asOf.
//   - When the source may have missed something it says Lost, and then nothing until it
//     hears all changes again. Only when that is confirmed does it say ChangedAll, and then
//     Current.
//   - A read of the store returns what is current at some moment of the read.
//   - Set, Del and Fill have changed the store when they return without an error.
//
// Telling of more changes than there were costs hits, but is never wrong.
//
// Messages of the source and answers of the store may overtake each other: a change may be
// told before the answer to an earlier read, and after the answer to a later one.
//
// # What else they may have
//
// A Source may also be a [Coverer], which tells of some keys only, and a [PartialSource], which
// says that it tells of some changes late or not at all. A Store may also be a [Leaser], which
// lets one instance load a missing key, and a [Sharded], which has several servers. A [Watcher]
// may also be a [KeyWatcher] and a [LagWatcher]: a source finds out by the functions [Except],
// [ChangedIf] and [MaxLag].
//
// # Keys
//
// A key of the store is a string of any bytes. A [Text] translates keys of other types.
//
// # Not found, and leases
//
// The store has three answers for a key: a value; that the key is missing; or that the key
// is known to have no value, which is kept like a value, with a TTL of its own. A store that
// is also a [Leaser] has a fourth: an instance is loading the key. Then one instance of the
// fleet asks the database for a missing key, and the others wait for it; and a value that
// was loaded before the key changed is kept nowhere.
//
// # In tests of services
//
// Package memory, in this folder, has a store and source in memory.
package near
