// Package cache implements a cache in the process: sharded, limited by the number of entries
// or by weight, with a TTL for each entry and loads that run once for each key.
//
//	users, err := cache.New(cache.Options[int64, *User]{
//		Name:   "users",
//		Limit:  100_000,
//		Expire: time.Hour,
//		Jitter: 0.05,
//	})
//	...
//	user, err := users.TakeCtx(ctx, id, func(ctx context.Context) (*User, error) {
//		return db.User(ctx, id)
//	})
//	...
//	users.Del(id) // after the database has changed
//
// Begin with [New], [Options], [Cache.TakeCtx], [Cache.Get], [Cache.Set] and [Cache.Del]; then
// [Cache.TakeMany] for several keys, [Cache.Compute] for counters, [Cache.Stats], and
// [Cache.Close] for a cache with OnRemove.
//
// # Which Take
//
// All return a value in the cache, or load it once for all callers. They honour these options:
//
//	                          Refresh  Grace       Patience  Timeout    MaxLoads  Negative   its context
//	TakeCtx, TakeWith, Fetch  yes      yes         yes       yes        yes       yes        yes
//	TakeManyWith, FetchMany   yes      yes         no        yes        yes       yes        yes
//	TakeMany                  yes      yes         no        yes        yes       of others  yes
//	Take                      no       on failure  no        of others  yes       yes        no
//
// A load for several keys counts as one in MaxLoads.
//
//   - [Cache.TakeCtx] lets a caller leave when its context ends; the load goes on for the others.
//   - [Cache.TakeWith] is TakeCtx for a load that sees the old value, sets the TTL of the new
//     one, or says that nothing has changed. [Cache.TakeMissed] is for who has called Get.
//   - [Cache.TakeEntry] is TakeWith, or Fetch, that says how fresh the value is, and whose caller
//     may differ from the options, by a [Call].
//   - [Cache.Take] allocates nothing at a hit. Its caller runs the load, and gets a value in Grace
//     if that fails. It waits no longer than Timeout for the load of another.
//   - [Cache.TakeMany] loads all missing keys by one fetch. If there is Patience, it waits for
//     those in Grace. It finds kept errors, but its own error says nothing of single keys.
//   - [Cache.TakeManyWith] is TakeMany for a fetch that tells of each key what TakeWith's tells,
//     and its error, which Negative gets.
//   - [Cache.Fetch] and [Cache.FetchMany] are TakeWith and TakeManyWith by a loader that is given
//     once, in the options. [Cache.Refresh] loads by it what is there, too.
//
// # What it promises
//
//   - A value is never returned at or after its deadline, unless Grace lets a Take do so. The
//     timing wheel only frees memory and reports, about a tick later: a hundredth of the
//     shorter of Expire and Idle, but at least 10 ms and at most 1 s; 100 ms without either.
//   - If more than 256 values are stored or touched in a tick, or more than 256 are read
//     with Idle, the rest may expire up to a tick early, and more if the machine runs the
//     tick late; after Touch, up to a quarter of a tick earlier still. A TTL of less than a
//     hundred ticks is always exact.
//   - After Set returns, Get finds the value until something removes it. There are never more
//     entries, and never more weight, than the limit.
//   - A load never undoes a Set, Del, Clear, Expire or Compute that happened since it began.
//     Callers of a key share one load until the key changes.
//   - Every value that is stored leaves once, with one [Cause]. OnRemove is called for it
//     once, outside all locks and in order for each key; values without a deadline in a cache
//     that nobody holds leave without a call.
//
// # Keys
//
// A key can have any comparable type. Each cache hashes keys with a random seed of its own,
// so keys that collide in one do not in another, unless an attacker has measured the seeds
// (SECURITY.md). A key of an interface type whose dynamic type cannot be hashed causes a panic,
// as in a map, and leaves the cache as it was. A key that is not equal to itself, such as NaN,
// could never be found again: it is never stored, and Take calls fetch for it every time.
//
// # In tests
//
// Everything works in a bubble of testing/synctest, by the time there. A cache whose values
// expire belongs to the bubble in which it was made, or to none: elsewhere its deadlines would
// never pass. So storing, touching and loading panic there, and say so. Reading goes by the last
// time that the cache knew. A test replaces a cache that is a variable of a package by one of
// its own:
//
//	synctest.Test(t, func(t *testing.T) {
//		users = newUsers()
//		defer users.Close(t.Context())
//		...
//	})
//
// A second bubble is not told from the first. Caches without a TTL can be used everywhere.
//
// # What is copied
//
// Values are copied in and out by assignment. What a value points to is shared by the cache
// and all callers that got the value, and should not be changed.
//
// # For packages that build on a cache
//
// [Cache.TakeMissed] and the options Unlisted and Amend are for packages such as near only.
package cache
