// Package cache keeps values by key in the memory of a process, up to a limit and for a
// limited time, and loads those that are missing.
//
//	users, err := cache.New(cache.Options[int64, *User]{
//		Name:   "users",
//		Limit:  100_000,
//		Expire: time.Hour,
//		Jitter: 0.05,
//		Grace:  time.Hour, // old values while loads fail
//		Load:   func(ctx context.Context, id int64, _ *cache.Load[*User]) (*User, error) { return db.User(ctx, id) },
//	})
//	...
//	user, err := users.Fetch(ctx, id)
//
// # Ten names to begin with
//
//   - [New] makes a cache.
//   - [Options] say how many entries, or bytes, for how long, how a value is loaded, and what happens
//     when loads are slow or fail.
//   - [Cache.Fetch] returns a value, or loads it: one load for all who ask. [Cache.TakeCtx] does so by a
//     function of the call.
//   - [Cache.FetchMany] and [Cache.TakeMany] do so for several keys, with one load for those that are
//     missing.
//   - [Cache.Get] looks.
//   - [Cache.Set] stores; [Cache.SetWithExpire] with a TTL of its own.
//   - [Cache.Del] removes a key, after a write of the database, say. It always wins.
//   - [Cache.DelFunc] removes what a function picks: a prefix, a tag.
//   - [Cache.Compute] changes a value atomically.
//   - [Cache.SaveFile] and [Cache.RestoreFile] keep values over a restart.
//
// [Cache.Stats] counts, as does the page of package stats. [Cache.Close] may be left out.
//
// # Which method loads
//
// These are the Takes. All run one load per key, within MaxLoads. All return an error that Negative has
// kept; those of several keys leave the key out.
//
//	                                     caller's context  Refresh  Grace                                        Timeout
//	Fetch, TakeCtx, TakeWith, TakeEntry  ends the wait     yes      at once, or within Patience                  yes
//	FetchMany, TakeMany                  ends the wait     yes      at once; with Patience, after a failed load  yes
//	Take                                 none              no       after a failed load                          all but its own fetch
//
// Fetch and FetchMany load by the options Load and LoadMany, the others by a function of the call.
// TakeEntry does either, on terms of its own, and says how fresh the value is. The functions of TakeWith and
// TakeEntry, the options, and that of a TakeMany with [WithLoads] get a [Load], which they may tell more: a
// TTL, that the old value is still right, that there is none any more, or that the value is not to be
// stored. Take loads in its own goroutine. [Cache.Refresh] loads what is there, too.
//
// # What it promises
//
//   - Only Takes in Grace and Stale return a value at or after its deadline; Coldest and Hottest
//     may, if it has passed since they read it. The wheel frees memory and reports, at the next tick. A tick is a hundredth of the shorter of Expire and Idle, at
//     least 10 ms and at most 1 s; 100 ms without either. A process that was stopped for more
//     than ten seconds may return an expired value before its next tick.
//   - After 256 values stored or touched in a tick, or 256 read with Idle, others may expire up
//     to a tick early, and more if the machine runs the tick late; after Touch, up to a quarter
//     of a tick earlier still. A TTL of less than a hundred ticks is always exact.
//   - After Set returns, Get sees the value until it expires, or is replaced, removed or
//     evicted. A value heavier than MaxWeight is evicted at once; a closed cache stores nothing.
//     Entries and weight never exceed the limit, but while a Resize to less runs, or Elastic
//     lowers it.
//   - A load never undoes a Set, Del, Clear or Compute that happened since it began. There
//     is one load per key and version at a time: a caller after a change begins another at once.
//   - Every stored value leaves once, with one [Cause]. OnRemove is called for it once, outside
//     all locks and in order for each key. A cache that nobody holds is collected after its
//     last deadline, without calls for values that have none: for those, call Close.
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
// Values are copied in and out by assignment. The cache and all callers share what a value
// points to: do not change it.
//
// # Packages of this module that build on a cache
//
// They find what only they need by [For], as package near does.
package cache
