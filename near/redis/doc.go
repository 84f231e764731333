// Package redis is the store and the source of changes of a near cache, in Redis: on one
// server, behind Sentinels, or in a cluster.
//
// # How it hears of changes
//
// A [Redis] keeps one connection to each master, on which the server pushes the keys that change
// (CLIENT TRACKING ON BCAST, of Redis 6 and newer): by any client and command, by expiry, eviction
// and FLUSHALL. On the same connection it asks each master three times in MaxLag whether it is
// still a master of the same cluster. An answer confirms all changes before the previous question
// was sent. When a connection breaks or falls silent, or the answer changes, it says Lost at once,
// finds the masters, connects to all of them, and says ChangedAll. In a cluster it goes on while
// most masters answer and no slot moves, without the keys of the others: a failover needs the votes
// of most, so one of those that answer knows of it. A server that a script keeps busy refuses to
// answer; it tells of changes only after the script.
//
// All masters are watched from the beginning, also those of which no key was read yet. The
// connections for reading are made anew each time too, and each is asked who the server is: if it
// is not watched, the address leads somewhere else now, and the source says Lost. Every 10 seconds,
// or every ten MaxLag, it looks where the addresses lead; until then, an address that moves while
// no connection breaks goes unnoticed. Behind Sentinels, the one that named the master is asked
// with each question; while it does not answer, or cannot reach most of the others, nothing is
// confirmed.
//
// A watcher that is slow, or stuck, costs Redis no memory: the messages for it wait in this
// process, and become one ChangedAll when they exceed 16 MB. Only what the process itself has
// no time to read waits in Redis, whose client-output-buffer-limit bounds that.
//
// # What Redis has
//
// A value is stored under its key byte by byte, so that other programs can read and write
// it. A "not found" and a lease are values that begin with the byte 0 and "near". The keys
// near:list:... have the instances of a service, each for ten minutes, and their answers to
// Revoke, DelPrefix and Clear of near.Cache; questions are keys of the cache that begin with ~~.
//
// By ACL the user of a server or a cluster needs the following, and +select for another
// SelectDB than 0:
//
//	ACL SETUSER app on >password ~user:* ~near:list:* +get +pttl +set +del +unlink +scan +eval +evalsha +hset +hdel +hgetall +expire +time +info +ping +client|tracking +cluster|info +cluster|nodes +cluster|slots +cluster|shards +asking
//
// With an Options.Channel "changes" it needs, beside these:
//
//	ACL SETUSER app &changes* +publish +subscribe
//
// The user of the Sentinels (SentinelOption) needs there:
//
//	ACL SETUSER app on >password +ping +sentinel|get-master-addr-by-name +sentinel|ckquorum
//
// # Without tracking
//
// Servers that speak RESP2 only, some proxies and some hosted services cannot push changes.
// There, and where ACL denies client|tracking, the source hears of changes by keyspace
// notifications, and logs so. notify-keyspace-events must be KA (CONFIG SET, or the parameter
// group of a managed service); else New returns ErrNoTracking. With each question the source
// touches a key of its own, near:beat:..., and must hear of it. If the key is gone, FLUSHALL,
// FLUSHDB or SWAPDB has removed others too, and the source says ChangedAll. A process that is
// slow to read loses its connection (client-output-buffer-limit pubsub). Behind a proxy that
// spreads the keys over several servers, nothing confirms their order: changes may come late.
// Beside the first line the user needs this, with a channel for each of Prefixes:
//
//	ACL SETUSER app ~near:beat:* &__keyspace@0__:near:beat:* &__keyspace@0__:user:* +subscribe +unsubscribe +psubscribe +sadd +smove +pexpire
//
// With [Options.Channel], for servers without notifications, each change made through this
// package is published on that channel, in one atomic step with the change. These changes are
// told reliably: a message that the instance publishes to itself must come back three times in
// MaxLag. But writes by other programs, expiry, eviction and FLUSHALL are not told:
// such values stay in the memory of an instance until their TTL there ends. So set a short
// LocalExpire. A cluster cannot be watched in this way.
//
// # What no source can tell
//
// A failover loses writes that the replica has not received. Then the source says
// ChangedAll, so that every instance has the values of the new master, which may be older
// than what was written. A restart from an RDB snapshot brings back what was removed since,
// for the rest of its TTL. SWAPDB, with tracking, changes values, and so does an administrator
// who gives a slot to another master without moving its keys (CLUSTER DELSLOTS, ADDSLOTS),
// without a change that can be told.
package redis
