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
//   - A value is never returned at or after its deadline, whatever the wheel is
//     doing. The wheel only reclaims memory and reports, within a tick: a
//     hundredth of the shorter of Expire and Idle, but 10 ms to 1 s.
//   - If more than 256 values are stored or touched in a tick, or more than 256 read
//     with Idle, those beyond may expire early by up to a tick, or by more if the machine
//     brings the tick late, and a quarter of one more for Touch. A TTL of less than
//     a hundred ticks is always kept exactly.
//   - After Set returns, Get sees the value. There are never more entries, and
//     never more weight, than the limit.
//   - A load never undoes a Set, Del, Clear or Compute that happened since it
//     began, and there is one load per key at a time.
//   - Every value that is stored leaves once, with one [Cause], which OnRemove
//     is told once, outside all locks and in order for each key.
//
// # Keys
//
// Any comparable type will do. Keys are hashed with a seed of their own for each
// cache, so nobody outside can choose keys that collide. A key of an interface
// type whose dynamic type cannot be hashed panics, as in a map, and leaves the
// cache as it was. A key that is not equal to itself, such as NaN, could never be
// found again: it is never stored, and Take calls fetch for it every time.
//
// # What is copied
//
// Values are copied in and out by assignment. What a value points to is shared
// between the cache and everyone who got it, and should not be changed.
package cache
