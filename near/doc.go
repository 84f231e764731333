// Package near keeps a cache in every instance of a service true to one store that all of
// them share, such as Redis.
//
// The values of the keys that an instance asks for most lie in its own memory, as in a
// cache.Cache, and are served from there. A [Store] has the values for the whole fleet, as
// bytes. A [Source] tells each instance which keys of the store change, and vouches from
// time to time that all changes up to a moment have been told. What an instance has in its
// memory it serves only while that moment is less than MaxLag ago.
//
// # What a Source and a Store have to promise
//
// All that this package promises follows from this:
//
//   - The source tells of every change of a key that it covers, in the order in which they
//     happen in the store: by Changed, or, where it cannot tell them one by one, by
//     ChangedAll. A key that is removed, or expires, has changed as one that is written.
//   - Current(asOf) comes after the Changed of everything that changed before asOf.
//   - After it may have missed something it says Lost, and then nothing until it hears all
//     changes again. Only when that is confirmed does it say ChangedAll, and then Current.
//   - A read of the store returns what is current at some moment of the read.
//   - Set, Del and Fill have changed the store when they return without an error.
//
// Telling more than has changed costs hits, and never truth.
//
// Messages of the source and answers of the store may overtake each other: a change may be
// told before the answer to a read that was before it, and after the answer to one that
// was after it.
//
// # Keys
//
// A key of the store is a string of any bytes. Where the type of the keys is another, a
// [Text] translates.
//
// # Not found, and leases
//
// The store has three answers for a key: a value, that it is missing, or that it is known
// to have none, which is kept as a value is, with a TTL of its own. A store that is also a
// [Leaser] has a fourth: somebody is loading it. Then one instance of the fleet asks the
// database for a missing key, and the others wait for it; and a value that was loaded
// before somebody changed the key is kept nowhere.
package near
