// Package mysql tells near caches which rows of a MariaDB or MySQL database change, whoever changes
// them: this service, another one, or somebody with a client.
//
// A [Table] says which keys its rows have. A [Log] reads the binary log as a replica does, so it hears
// of a change a moment after its commit, and needs no table, trigger or right to write. It was run
// with MariaDB 10.11. What differs for MySQL 8 is refused unless [LogOptions.UntestedMySQL] is set.
//
// It is not finished: with faults of the network on a busy machine, one run of seven served answers
// that were 200 ms older than MaxLag. docs/truth.md has what is known.
//
// A commit is in the log before it can be read, for as long as it waits for a replica with
// semi-synchronous replication. So a change is told only once it can be read, which the source asks
// for on a second connection: a snapshot of MariaDB says up to which position of the log it shows all.
// A moment is vouched for when the stream has reached the position of a snapshot taken after it.
//
// After a break everything is forgotten, also when one of the tables was altered. Logs that were
// purged meanwhile are not missed.
//
// # The server
//
// It must have log_bin, binlog_format=ROW and binlog_row_image=FULL, and the user
//
//	GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO service;
//	GRANT SELECT ON shop.users TO service;
//
// with SELECT on each table, and on those whose changes the server follows in it by ON DELETE or ON
// UPDATE of a foreign key: a change of such a row is not in the log, so everything is forgotten.
// [NewLog] says what is missing. Both connections must lead to the primary itself. Each instance costs
// the server as much as a replica does: for few instances.
//
// # What is not told
//
//   - What a session with sql_log_bin=0 changes.
//   - What is not in the log because the server receives it from another one and does not log that: with
//     log_slave_updates=OFF. It is refused at the start, and not if replication begins later.
//
// # Loads
//
// A load must read the primary. A key must be written as the row has it: MySQL finds row 7 also for
// the text "007", and whoever keeps it under "user:007" is not told of its changes. For texts see
// [LogOptions.AnyCollation].
package mysql
