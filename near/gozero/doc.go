// Package gozero puts a near cache in front of go-zero's core/stores/cache: a [Cache] is
// one of go-zero's, which sqlc.NewConnWithCache and monc.NewModelWithCache take, and has the
// JSON of the keys that are asked for most in the memory of the process. Redis has the same
// as before: keys, JSON, the placeholder "*" and the TTLs that go-zero writes. Other
// instances may be without it.
//
//	near := gozero.MustNew(c.Near, c.Cache, sqlc.ErrNotFound)
//
// and in the model that goctl has made:
//
//	m := newUserModel(conn, c, opts...)
//	m.CachedConn = sqlc.NewConnWithCache(conn, near)
//
// Redis 6 or newer pushes which keys change, whoever changes them; package near/redis says
// how, and what rights a user of Redis needs for that. What is in memory is served while
// Redis has vouched for it no longer than MaxLag ago. Beyond that, and for keys without one
// of the Prefixes, everything goes to go-zero's cache, as if there were no other.
//
// # What is promised
//
// A value that a caller gets from memory was what Redis had at some moment of the call or
// of the MaxLag before it. It is not kept longer than in Redis, and is not what a query of
// this process returned: the next caller reads that from Redis.
//
// What Redis has is as true as go-zero makes it. A query that began before a row was changed
// and stores its result after the key was removed leaves an old row in Redis, for up to its
// TTL there (go-zero#3000). Leases against that need writers that all know them; package
// near has them.
//
// # Differences
//
// What callers see that is otherwise than in go-zero's cache: a hit does not look at the
// context; Get waits for a query that is running; while Redis cannot be reached, what is in
// memory is still served for MaxLag at most. Reads of Redis that go past go-zero's client
// are not among its traces and its metrics; they, and hits in memory, are in the minute line
// of the log.
package gozero
