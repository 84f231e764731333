package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// A flavor is what differs between MariaDB and MySQL.
type flavor interface {
	// name is what go-mysql calls it.
	name() string

	// ask returns the place before which everything can be read, and then who holds a lock:
	// the connection of the stream, if it and the questions lead to one server.
	ask(ctx context.Context, conn *sql.Conn, lock string) (visible place, holder sql.NullInt64, err error)

	// start lets a stream begin at a place.
	start(s *replication.BinlogSyncer, at place) (*replication.BinlogStreamer, error)
}

// flavorOf returns the flavor of a server. It refuses those that do not say what can be read.
func flavorOf(version string, untested bool) (flavor, error) {
	switch {
	case strings.Contains(version, "MariaDB"):
		return mariaDB{}, nil
	case !untested:
		return nil, fmt.Errorf("near/mysql: the server is %s, with which this package was not run, only with MariaDB 10.11: want MariaDB, or, after proof/neartest has passed against a server like this one, UntestedMySQL", version)
	}
	return mySQL{}, nil
}

// newLock returns the name of a lock that nobody else takes.
func newLock() string { return "pinwheel_" + strings.ToLower(rand.Text()) }

// newServerID returns a number for a replica that no other replica has, among two thousand million.
func newServerID() uint32 {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	return binary.LittleEndian.Uint32(id[:]) | 1<<31
}

type mariaDB struct{}

func (mariaDB) name() string { return gomysql.MariaDBFlavor }

// ask takes a snapshot. Every commit before its position in the log is visible in it, and none
// after.
func (mariaDB) ask(ctx context.Context, conn *sql.Conn, lock string) (visible place, holder sql.NullInt64, err error) {
	rows, err := conn.QueryContext(ctx, `START TRANSACTION WITH CONSISTENT SNAPSHOT;
		SHOW STATUS WHERE Variable_name IN ('Binlog_snapshot_file', 'Binlog_snapshot_position');
		SELECT IS_USED_LOCK(?), @@global.read_only;
		COMMIT`, lock)
	if err != nil {
		return nil, holder, err
	}
	defer rows.Close()
	var file string
	var offset uint64
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, holder, err
		}
		switch strings.ToLower(name) {
		case "binlog_snapshot_file":
			file = value
		default:
			if _, err := fmt.Sscan(value, &offset); err != nil {
				return nil, holder, err
			}
		}
	}
	if !rows.NextResultSet() || !rows.Next() {
		return nil, holder, errors.Join(rows.Err(), errors.New("no answer to the second question"))
	}
	var readOnly bool
	if err := rows.Scan(&holder, &readOnly); err != nil {
		return nil, holder, err
	}
	for rows.NextResultSet() {
	}
	if err := errors.Join(rows.Err(), refuseReplica(readOnly)); err != nil {
		return nil, holder, err
	}
	at, err := newPosition(file, offset)
	return at, holder, err
}

func (mariaDB) start(s *replication.BinlogSyncer, at place) (*replication.BinlogStreamer, error) {
	p := at.(position)
	if p.offset >= 1<<32 {
		return nil, errors.New("its file is larger than 4 GiB: want an administrator to run FLUSH BINARY LOGS")
	}
	return s.StartSync(gomysql.Position{Name: p.file, Pos: uint32(p.offset)})
}

// refuseReplica returns an error for a server that may be older than others.
func refuseReplica(readOnly bool) error {
	if readOnly {
		return errors.New("near/mysql: the server is read only, as a replica is, which may be older than what others read: want the primary")
	}
	return nil
}

// mySQL is MySQL 8, by its source: a transaction enters gtid_executed, for which
// WAIT_FOR_EXECUTED_GTID_SET waits, after the storage engine has committed it and before the
// client has its acknowledgement.
type mySQL struct{}

func (mySQL) name() string { return gomysql.MySQLFlavor }

func (mySQL) ask(ctx context.Context, conn *sql.Conn, lock string) (visible place, holder sql.NullInt64, err error) {
	var executed string
	var readOnly bool
	if err := conn.QueryRowContext(ctx, "SELECT @@global.gtid_executed, IS_USED_LOCK(?), @@global.read_only", lock).Scan(&executed, &holder, &readOnly); err != nil {
		return nil, holder, err
	}
	if err := refuseReplica(readOnly); err != nil {
		return nil, holder, err
	}
	set, err := gomysql.ParseMysqlGTIDSet(strings.ReplaceAll(executed, "\n", ""))
	if err != nil {
		return nil, holder, err
	}
	return transactions{set.(*gomysql.MysqlGTIDSet)}, holder, nil
}

func (mySQL) start(s *replication.BinlogSyncer, at place) (*replication.BinlogStreamer, error) {
	return s.StartSyncGTID(at.(transactions).Clone())
}
