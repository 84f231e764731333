// Package gozero puts a near cache in front of go-zero's core/stores/cache. A [Cache] is a
// cache.Cache of go-zero, for sqlc.NewConnWithCache and monc.NewModelWithCache, that keeps
// the JSON of the most requested keys in the memory of the process. Redis has the same as
// before: keys, JSON, the placeholder "*" and the TTLs that go-zero writes. Other instances
// may work without this package.
//
//	near := gozero.MustNew(c.Near, c.Cache, sqlc.ErrNotFound)
//
// and in the model that goctl has made:
//
//	m := newUserModel(conn, c, opts...)
//	m.CachedConn = sqlc.NewConnWithCache(conn, near)
//
// Redis 6 or newer pushes which keys change, whoever changes them; package near/redis says
// how, and which rights a user of Redis needs for that. Values in memory are served while
// Redis has confirmed a moment at most MaxLag ago. Otherwise, and for keys without one of
// the Prefixes, every call goes to go-zero's cache.
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
// # TLS
//
// The connections of this package to a node with Tls verify its certificate ([Conf] has CA for
// one that the system does not know). A server that fails this at the start is refused before
// go-zero connects to it. But go-zero's own connections, for all that memory does not answer,
// accept any certificate, and have no setting for that (v1.10.3): who can pose as Redis later
// gets the password from them.
//
// # Differences
//
// Callers see these differences from go-zero's cache: a hit does not look at the context; Get
// waits for a running query; while Redis cannot be reached, values in memory are still
// served, for MaxLag at most. go-zero's traces and metrics miss the reads of Redis by this
// package; the minute line of the log has them, and the hits in memory.
package gozero
