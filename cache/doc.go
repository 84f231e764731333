// Package cache implements an in-process cache: sharded, bounded by a number of
// entries or by weight, with a TTL for each entry that is exact on reading and
// reclaimed by a timing wheel.
//
//	users, err := cache.New(cache.Options[int64, *User]{
//		Name:   "users",
//		Limit:  100_000,
//		Expire: time.Hour,
//		Jitter: 0.05,
//	})
//	...
//	user, err := users.Take(id, func() (*User, error) { return db.User(id) })
//
// # What it promises
//
//   - A value is never returned at or after its deadline, whatever the wheel is doing.
//     The wheel only frees memory and reports, within a tick: a hundredth of the shorter
//     of Expire and Idle, but at least 10 ms and at most 1 s; 100 ms without either.
//   - If more than 256 values are stored or touched in a tick, or more than 256 are read
//     with Idle, the rest may expire up to a tick early, and more if the machine runs the
//     tick late; after Touch, up to a quarter of a tick earlier still. A TTL of less than a
//     hundred ticks is always exact.
//   - After Set returns, Get sees the value. There are never more entries, and never more
//     weight, than the limit.
//   - A load never undoes a Set, Del, Clear or Compute that happened since it began. There
//     is one load per key and version at a time: who comes after a change loads anew at once.
//   - Every value that is stored leaves once, with one [Cause]. OnRemove is called for it
//     once, outside all locks and in order for each key.
//
// # Keys
//
// A key can have any comparable type. Each cache hashes keys with a random seed of its own,
// so an attacker cannot choose keys that collide. A key of an interface type whose dynamic
// type cannot be hashed causes a panic, as in a map, and leaves the cache as it was. A key
// that is not equal to itself, such as NaN, could never be found again: it is never stored,
// and Take calls fetch for it every time.
//
// # What is copied
//
// Values are copied in and out by assignment. What a value points to is shared by the cache
// and all callers that got the value, and should not be changed.
package cache
