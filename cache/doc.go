// Package cache keeps values by key in the memory of a process, up to a limit and for a
// limited time, and loads those that are missing.
//
//	users, err := cache.New(cache.Options[int64, *User]{
//		Name:   "users",
//		Limit:  100_000,
//		Expire: time.Hour,
//		Jitter: 0.05,
//	})
//	...
//	user, err := users.TakeCtx(ctx, id, func(ctx context.Context) (*User, error) { return db.User(ctx, id) })
//
// # Ten names to begin with
//
//   - [New] makes a cache.
//   - [Options] say how many entries, for how long, and what happens when loads are slow or
//     fail.
//   - [Cache.TakeCtx] returns a value, or loads it: one load for all who ask.
//   - [Cache.TakeMany] does so for several keys, with one load for those that are missing.
//   - [Cache.Get] looks.
//   - [Cache.Set] stores.
//   - [Cache.Del] removes a key, after a write of the database, say. It always wins.
//   - [Cache.Compute] changes a value atomically.
//   - [Cache.Stats] counts, as does the page of package stats.
//   - [Cache.Close] waits for loads and calls of OnRemove. It may be left out.
//
// # Which Take
//
// All run one load per key, within MaxLoads, and return errors that Negative has kept; TakeMany
// leaves their keys out.
//
//	           caller's context  Refresh  Grace                                          Timeout
//	TakeCtx    ends the wait     yes      at once, or within Patience                    yes
//	TakeWith   ends the wait     yes      at once, or within Patience                    yes
//	TakeMany   ends the wait     yes      at once; with Patience, after a failed load    yes
//	Take       none              no       after a failed load                            all but its own fetch
//
// TakeCtx is for services. In TakeWith the load chooses a TTL, or says that the old value is
// still right, that there is none, or that the value is not to be stored. Take loads in its
// own goroutine.
//
// # What it promises
//
//   - A value is never returned at or after its deadline, but by a Take in Grace. The wheel
//     only frees memory and reports, at the next tick: a tick is a hundredth of the shorter of
//     Expire and Idle, at least 10 ms and at most 1 s; 100 ms without either. A process that was
//     stopped for more than ten seconds may return an expired value before its next tick.
//   - If more than 256 values are stored or touched in a tick, or more than 256 are read
//     with Idle, the rest may expire up to a tick early, and more if the machine runs the
//     tick late; after Touch, up to a quarter of a tick earlier still. A TTL of less than a
//     hundred ticks is always exact.
//   - After Set returns, Get sees the value until it expires, or is replaced, removed or
//     evicted. One heavier than MaxWeight is evicted at once; a closed cache stores nothing.
//     There are never more entries, and never more weight, than the limit, but while a Resize
//     to less runs.
//   - A load never undoes a Set, Del, Clear or Compute that happened since it began. There
//     is one load per key and version at a time: who comes after a change loads anew at once.
//   - Every value that is stored leaves once, with one [Cause]. OnRemove is called for it
//     once, outside all locks and in order for each key; not for values without a deadline in
//     a cache that nobody holds.
//
// # Packages that build on a cache
//
// [Cache.TakeMissed] and the option Amend are for them alone, as for package near.
//
// # Keys
//
// A key can have any comparable type. Each cache hashes keys with a random seed of its own,
// so keys that collide in one cache do not in another; SECURITY.md says what an attacker might
// learn. A key of an interface type whose dynamic type cannot be hashed causes a panic, as in
// a map, and leaves the cache as it was. A key that is not equal to itself, such as NaN, could
// never be found again: it is never stored, and Take calls fetch for it every time.
//
// # What is copied
//
// Values are copied in and out by assignment. What a value points to is shared by the cache
// and all callers that got the value, and should not be changed.
package cache
