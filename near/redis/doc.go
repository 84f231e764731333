// Package redis is the store and the source of changes of a near cache, in Redis: on one
// server, behind Sentinels, or in a cluster.
//
// # How it hears of changes
//
// It keeps one connection to each master, on which Redis pushes the keys that change
// (CLIENT TRACKING ON BCAST, of Redis 6 and newer, or else keyspace notifications): by any client and
// command, by expiry, eviction and FLUSHALL, but not by SWAPDB. On the same connection it asks each master three
// times in MaxLag whether it is still a master of the same cluster; a server that is busy with
// a long script, and holds changes back, refuses that question. An answer vouches for all
// changes before the previous question was sent. When a connection breaks or falls silent, or
// the answer changes, it says Lost at once, finds the masters, connects to all of them, and
// says ChangedAll.
//
// All masters are watched from the beginning, also those of which no key was read yet. The
// connections for reading are made anew each time too. Each of them, whenever it is dialed,
// first asks for the run id of the server: nothing is read from a server that is not watched,
// wherever a balancer, a Service of Kubernetes or DNS leads. If a watched address leads
// elsewhere, the source says Lost and starts anew. Behind Sentinels, the one that named the
// master is asked with each question; while it does not answer, or cannot reach most of the
// others, nothing is vouched for.
//
// A watcher that is slow, or stuck, costs Redis no memory: the messages for it wait in this
// process, and become one ChangedAll when they exceed 16 MB.
//
// # What Redis has
//
// A value is stored under its key byte by byte, so that other programs can read and write
// it. A "not found" and a lease are values that begin with the byte 0 and "near". So does a
// value that is to be loaded anew before it ends, or outlives its TTL (Refresh and Grace of
// [near.Options]): "\x00near\x00+", four words and a line feed come before it. Its key lives for
// TTL and Grace. The words are at which PTTL, in milliseconds, it is due, its TTL ends, and
// the lease of who loads it anew ends, and the token of that lease, or "-". Before a value with
// groups come "\x00near\x00@", its groups with their generations as in the query of a URL, and a
// line feed. The keys of groups are the Prefix of the cache, "\x00near\x00@" and the group; that
// of the counter of generations ends with "\x00near\x00#".
//
// By ACL the user needs these rights on each server:
//
//	ACL SETUSER app on >password ~user:* +get +pttl +set +del +eval +evalsha +info +ping +client|tracking +time
//
// time is for the groups of [near.Options] only.
//
// In a cluster it also needs those to find the masters:
//
//	ACL SETUSER app +cluster|info +cluster|slots +cluster|shards +asking
//
// By keyspace notifications it needs no client|tracking, and also, with a pattern for each of Prefixes:
//
//	ACL SETUSER app ~pinwheel:watch:* &__keyspace@0__:user:* &__keyspace@0__:pinwheel:watch:* +psubscribe +subscribe +rename +pexpire +config|get
//
// With a Channel, here "changes", it needs no client|tracking, and also:
//
//	ACL SETUSER app &changes* +publish +subscribe
//
// And the user of the Sentinels needs:
//
//	ACL SETUSER app on >password +ping +sentinel|get-master-addr-by-name +sentinel|ckquorum
//
// With a Fleet, here "shop", it also needs those for the list of instances:
//
//	ACL SETUSER app ~pinwheel:*:shop* +hset +hget +hgetall +hexists +hincrby +hdel +sadd +smembers +pexpire
//
// A database other than 0 takes the right to SELECT.
//
// # Without tracking
//
// Some hosted services and proxies, and servers that speak RESP2 only, refuse CLIENT TRACKING. There
// the keyspace notifications of each master tell of changes, if its setting notify-keyspace-events has
// the kinds Kg$lszxe at least (KA is all of them):
//
//	CONFIG SET notify-keyspace-events KA
//
// Such services have it in their console. Without it New fails with ErrNoTracking. With each question a
// key of this watch, which begins with "pinwheel:watch:", gets another name (RENAME) and is to be told
// of in its turn, after all changes before. So it is noticed when the server no longer tells. If that
// key is gone, the database was emptied or swapped, which no notification tells: all is forgotten. That
// is so later than with tracking, but within MaxLag. Worse than with tracking:
//
//   - The server sends a message for each change of a watched key, or two if it has a TTL.
//   - Each watch writes three times in MaxLag to each master. While that refuses all writes, for lack
//     of replicas or as it cannot save, nothing is served from memory. A full one does not.
//   - A watcher that is slower than the messages loses its connection (client-output-buffer-limit
//     pubsub), and is told ChangedAll.
//   - If the user may not CONFIG GET, it is known that the server tells of the kinds K, g and $, but
//     not of the others, such as evictions.
//
// The finding "no tracking" and a line in the log say that it is so. When a server can track again, the
// next connection does.
//
// Where there are neither, [Options.Channel] is left: each change made through this package is published
// on that channel, in one atomic step with the change. These changes
// are told reliably: a message that the instance publishes to itself must come back three
// times in MaxLag. But writes by other programs, expiry, eviction and FLUSHALL are not told:
// such values stay in the memory of an instance until their TTL there ends. So set a short
// LocalExpire. A cluster cannot be watched in this way.
//
// # What no source can tell
//
// A failover loses writes that the replica has not received. Then the source says
// ChangedAll, so that every instance has the values of the new master, which may be older
// than what was written. So it is when a server restarts from a snapshot: values that were
// removed since are back, for the rest of their TTL. SWAPDB changes all values, and a server that tracks
// does not tell of it. An administrator who gives a slot to another master without moving its keys
// (CLUSTER DELSLOTS, ADDSLOTS) changes values without a change that can be told. And while
// an address leads new connections to another server, an instance whose connections do not
// break stays with the old one, and tells of its changes.
package redis
