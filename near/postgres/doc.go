// Package postgres has a source for package near that tells of the rows that change in PostgreSQL, 13 or newer, whoever
// changes them: this service, another one, or somebody with psql. So what a near.Local serves is never older than its
// MaxLag than the database, without another system beside it.
//
//	var tables = []postgres.Table{{Name: "users", Keys: []string{"user:{id}", "user:email:{email}"}}}
//
//	changes, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables})
//	if err != nil {
//		return err
//	}
//	users, err := near.NewLocal[int64, User](changes, near.LocalOptions[int64, User]{Prefix: "user:", MaxLag: time.Second})
//
// [SQL] is the migration that it needs: triggers write the keys of each changed row to a table, in the transaction that
// changes the row. Each instance polls that table, by transaction and not by number: a poll reads what transactions have
// written that the poll before did not see, so late commits are not lost, and what is told can be read. It needs no
// replication slot, no wal_level, and works through pgbouncer.
//
// # What is promised
//
// A change that has been committed is told with the first poll that begins afterwards, and vouched for as of the moment
// before that poll was sent. While the database cannot be asked nothing is vouched for, and nothing is lost: the next poll
// has all changes since the last. After a crash, a failover, a restart, or a longer absence than Keep, all is forgotten.
//
// Not told are changes by who has disabled the triggers (ALTER TABLE … DISABLE TRIGGER, pg_restore --disable-triggers),
// by DDL (DROP PARTITION, ALTER TABLE … TYPE), of rows in tables that inherit without being partitions, and by a
// TRUNCATE of a partition that is newer than the migration, until that runs again. Triggers fire
// also for rows that logical replication applies (ENABLE ALWAYS). A column of a key cannot be renamed or dropped before
// the migration has run without it: writes of the table fail then.
//
// Loads must read the primary, or call [Changes.AwaitReplay] before they read a standby. A cache that loads by one key
// what depends on several tables needs a key for it at each of them.
package postgres
