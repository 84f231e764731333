package truth

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/pinwheel-cache/pinwheel/near/mysql"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

// MySQL has its rows in MariaDB or MySQL.
type MySQL struct {
	DB    *sql.DB
	Table string
	Open  time.Duration // how long some transactions stay open, at most
}

// NewMySQL makes the table.
func NewMySQL(ctx context.Context, dsn, table string) (*MySQL, error) {
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.MultiStatements, config.Logger = time.Second, true, &driver.NopLogger{}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	tr := &MySQL{DB: sql.OpenDB(connector), Table: table, Open: time.Second}
	tr.DB.SetMaxOpenConns(12)
	var values []string
	for row := range neartest.Rows {
		values = append(values, fmt.Sprintf("(%d, 0)", row))
	}
	if _, err := tr.DB.ExecContext(ctx, fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, version int NOT NULL) ENGINE=InnoDB; INSERT INTO %[1]s VALUES %s", table, strings.Join(values, ", "))); err != nil {
		tr.DB.Close()
		return nil, err
	}
	return tr, nil
}

// Keys says which keys the rows have.
func (tr *MySQL) Keys() mysql.Table {
	return mysql.Table{Name: tr.Table, Keys: []string{Prefix + "{id}"}}
}

// Read reads a row.
func (tr *MySQL) Read(ctx context.Context, row int) (version int, err error) {
	err = tr.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT version FROM %s WHERE id = %d", tr.Table, row)).Scan(&version)
	return version, err
}

// Write writes as services and people do: by one statement, in a transaction that stays open or is
// undone before it is done again, with savepoints, by two-phase commit, or by removing the row.
func (tr *MySQL) Write(ctx context.Context, row, version int) error {
	update := fmt.Sprintf("UPDATE %s SET version = %d WHERE id = %d AND version < %[2]d", tr.Table, version, row)
	switch n := rand.N(40); {
	case n < 5:
		return tr.in(ctx, nil, update)
	case n < 7:
		undone := errors.New("undone")
		if err := tr.in(ctx, undone, update); !errors.Is(err, undone) {
			return err
		}
	case n < 9:
		return tr.in(ctx, nil, "SAVEPOINT s; "+update+"; ROLLBACK TO s; SAVEPOINT r; "+update+"; RELEASE SAVEPOINT r")
	case n < 11:
		return tr.in(ctx, nil, fmt.Sprintf("DELETE FROM %s WHERE id = %d; INSERT INTO %[1]s VALUES (%[2]d, %d)", tr.Table, row, version))
	case n < 13:
		return tr.twoPhases(ctx, update, fmt.Sprintf("'%s_%d_%d'", tr.Table, row, version))
	}
	_, err := tr.DB.ExecContext(ctx, update)
	return err
}

// in runs statements in a transaction, which stays open for a while, sometimes for long.
func (tr *MySQL) in(ctx context.Context, undo error, statements string) error {
	tx, err := tr.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, statements)
	if err := errors.Join(err, undo); err != nil {
		stayOpen(ctx, tr.Open)
		return errors.Join(err, tx.Rollback())
	}
	stayOpen(ctx, tr.Open)
	return tx.Commit()
}

// twoPhases leaves no prepared transaction behind, which would lock its row for ever. If its
// connection breaks, the server may prepare it a moment later.
func (tr *MySQL) twoPhases(ctx context.Context, update, name string) error {
	const unknown = 1397
	began := time.Now()
	conn, err := tr.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("XA START %s; %s; XA END %[1]s; XA PREPARE %[1]s", name, update))
	if err == nil {
		time.Sleep(rand.N(tr.Open / 5))
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "XA COMMIT "+name); err == nil {
			return nil
		}
	}
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // closes it, so that another connection may end the transaction
	for {
		_, commit := tr.DB.ExecContext(context.WithoutCancel(ctx), "XA COMMIT "+name)
		var refused *driver.MySQLError
		switch {
		case commit == nil:
			return nil
		case errors.As(commit, &refused) && refused.Number == unknown && time.Since(began) > 2*time.Second, ctx.Err() != nil:
			return errors.Join(err, commit)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Close removes the table.
func (tr *MySQL) Close() error {
	_, err := tr.DB.Exec("DROP TABLE IF EXISTS " + tr.Table)
	return errors.Join(err, tr.DB.Close())
}
