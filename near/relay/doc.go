// Package relay keeps near caches over Redis true to a database, for any number of instances at the
// cost of one.
//
// One process, the relay, hears of the changes of the database from a near.Source, such as that of
// near/postgres, and removes the changed keys from Redis. Every near cache over that Redis hears of
// the removals, and so do programs in other languages. Several relays may run: a [Lock] chooses
// one, and another takes over when it ends.
//
// The instances use [Over] as the store and the source of their near.Cache. A value that this
// returns was current in the database at some moment of the call or of the MaxLag before it.
//
// # Why it holds
//
// The relay writes a beat to Redis, has it acknowledged, and then waits until the database has
// vouched for a later moment. It removes from Redis all that has changed until then, has that
// acknowledged, and writes the next beat.
//
// An instance asks a question of Redis at q, gets the answer, and then hears beat n and beat n+1
// of one relay on the same connection. Beat n was acknowledged after q, as it was told after the
// answer. So what changed in the database before q was removed from Redis before beat n+1, and
// the instance was told of it before it was told of that beat: it vouches for q. No clock of one machine is
// compared with that of another.
//
// Values in Redis may be read while an instance vouches for a moment at most MaxLag ago. Each
// reading also reads the last beat: a server that has lost a removal, by a failover or a restart, has
// lost the beats after it too, and is not believed. The relay finds that by its next step, and
// begins anew by removing everything.
//
// While nothing is vouched for, as when no relay runs, calls of the store fail, and the near.Cache
// does what its option Away says: it asks the database, or returns an error.
//
// Most keys that change are not in Redis. Their removal is told to nobody, and need not be: what
// an instance has in memory is in Redis, or was lost there and the instance was told, or is kept for
// less than MaxLag after it was fetched from the database.
//
// # Rights
//
// By ACL the instances need these rights in Redis, for keys that begin with "user:" and a relay
// with the name "main":
//
//	ACL SETUSER app on >password ~user:* %R~pinwheel:relay:main +get +pttl +set +del +eval +evalsha +info +ping +client|tracking
//
// And the relay:
//
//	ACL SETUSER relay on >password ~user:* ~pinwheel:relay:main ~pinwheel:beat:main:* +get +set +del +scan +eval +evalsha +info +ping +client|tracking
//
// In PostgreSQL the relay needs those that near/postgres names.
//
// # What is not promised
//
//   - Only near caches may fill keys of the prefixes. Others that read the database and then
//     write to Redis, as go-zero's caches do, may write an old value after it was removed.
//   - With MayExist, a "not found" of a key that may not exist is kept for NotFoundExpire.
//   - A relay that begins removes all keys of its prefixes, as it does not know what changed before.
//   - One server, or one behind Sentinels. Clusters are refused.
package relay
