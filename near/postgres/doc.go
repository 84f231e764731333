// Package postgres tells near caches which rows of a PostgreSQL database change, whoever changes
// them: this service, another one, or somebody with psql.
//
// A [Table] says which keys its rows have. There are two sources of changes for the same
// tables: [Changes] for most, [Log] for few instances that must hear at once.
//
// # Changes
//
// Triggers write the keys of each changed row to a table of changes, in the transaction that
// changes the row. Each instance polls that table three times in MaxLag. It needs no more than
// SELECT rights, and works through pgbouncer. [SQL] returns the statements for a migration.
//
// A poll reads, in one snapshot, what the snapshot of the poll before it did not show: the
// changes of transactions that were open then, or began since. So it loses no transaction that
// commits late, tells no change before it can be read, and its cost does not depend on how long
// a transaction stays open. A read by increasing ids would lose the late ones.
//
// A poll vouches for all that was acknowledged before it was sent. It needs no connection that
// lasts: after a break, or a restart of the server, the next poll goes on where the last one
// ended. It forgets everything only when changes may be missing from the table: rows that are
// older than [ChangesOptions.Retention] have been removed, or the server has crashed, is
// another one, or was restored.
//
// # Log
//
// A Log reads the log of the server by logical replication, so it hears of a change a moment after
// its commit, and writers pay for no trigger. It needs wal_level = logical, the publication of
// [LogSQL], a role with REPLICATION, and two connections to the primary that do not go through
// pgbouncer. Each instance costs the server as much as a standby does: for few instances.
//
// A commit is in the log before it can be read. So a change is told only once a snapshot shows its
// transaction, which it asks for on the other connection. A moment is vouched for when the stream
// has reached what the log had after it.
//
// The slot is temporary: it ends with its connection, and fills no disk afterwards. After a break
// everything is forgotten, also when the publication or a table of it was altered. A new slot waits
// until the transactions that are open have ended; until then nothing is served.
//
// # What is not told
//
//   - To Changes, writers that bypass triggers: ALTER TABLE … DISABLE TRIGGER, and a partition that is
//     dropped, detached or attached. Run SELECT pinwheel.forget() in the same transaction; then
//     every instance forgets everything.
//   - TRUNCATE of a single partition, unless SQL ran after the partition was made.
//   - A table that is dropped and made anew has no trigger; run SQL again.
//
// # Loads
//
// A load must read the primary. If it reads a standby, it calls Replayed first, which waits until
// the standby has what was told. Otherwise it reads an old row after the change was told, and
// keeps it.
package postgres
