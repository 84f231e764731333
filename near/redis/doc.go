// Package redis is the store and the source of changes of a near cache, in Redis: on one
// server, behind Sentinels, or in a cluster.
//
// # How it hears of changes
//
// It keeps one connection to each master, on which Redis pushes the keys that change
// (CLIENT TRACKING ON BCAST, of Redis 6 and newer), whoever changes them and with whatever
// command, when they expire or are evicted, and at a FLUSHALL. On the same connection it
// asks each master three times in MaxLag whether it is still a master of the same cluster;
// the answer vouches for what was changed before the question before it was sent. When a
// connection breaks, is silent, or the answer is another one, it says Lost at once, finds
// out who the masters are, connects to all of them, and says ChangedAll.
//
// All masters are watched from the beginning, also those that nobody has asked for
// anything. The connections that values are read by are made anew each time too, so that
// nothing is read from a server that is no longer watched. Behind Sentinels the one that
// named the master is asked with each beat; while none answers, nothing is vouched for.
//
// A watcher that is slow, or stuck, costs Redis no memory: what it has not been told is
// kept here, and becomes one ChangedAll when it is more than 16 MB.
//
// # What Redis has
//
// A value lies under its key byte by byte, so that other programs can read and write it.
// That a key has no value, and that somebody is loading it, is a value that begins with
// the byte 0 and "near".
//
// A user of Redis with rules needs what the application does with its keys, EVALSHA and
// EVAL, and CLIENT TRACKING; in a cluster CLUSTER INFO and CLUSTER NODES beside:
//
//	ACL SETUSER app on >password ~user:* +@read +@write +@scripting +client|tracking +cluster|info +cluster|nodes
//
// # Without tracking
//
// Servers that speak RESP2 only, some proxies and some hosted services cannot push changes.
// New refuses them with ErrNoTracking. With [Options.Channel] each change that is made
// through this package is published there, in one step with the change, and the same
// channel is listened to. That is told reliably: what this instance publishes to itself has
// to come back three times in MaxLag. But it is not told what is written by others, what
// expires, what is evicted, and a FLUSHALL: such values stay in the memory of an instance
// until their TTL there is over. So give them a short one. It does not work with a cluster.
//
// # What no source can tell
//
// A failover loses writes that the replica has not received. The source says ChangedAll
// then, so that every instance has what the new master has; that may be older than what
// was written. An administrator who gives a slot to another master without moving its keys
// (CLUSTER DELSLOTS, ADDSLOTS) changes values without a change that could be told.
package redis
