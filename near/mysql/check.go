package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/pinwheel-cache/pinwheel/near/rows"
)

// checkServer returns an error if the log of the server would not have all changes, or cannot be
// read.
func (l *Log) checkServer(ctx context.Context, conn *sql.Conn) (flavor, error) {
	set, err := settings(ctx, conn)
	if err != nil {
		return nil, err
	}
	f, err := flavorOf(set["version"], l.options.UntestedMySQL)
	if err != nil {
		return nil, err
	}
	if err := checkSettings(f, set); err != nil {
		return nil, err
	}
	return f, l.checkFilters(ctx, conn)
}

// settings returns the global variables and counts of the server that matter.
func settings(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	set := map[string]string{}
	for _, query := range []string{
		`SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'log_bin', 'binlog_format', 'binlog_row_image', 'read_only', 'gtid_mode', 'log_slave_updates', 'log_replica_updates', 'wsrep_on')`,
		`SHOW GLOBAL STATUS WHERE Variable_name = 'Slaves_running'`,
	} {
		rows, err := conn.QueryContext(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("near/mysql: %w", err)
		}
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return nil, fmt.Errorf("near/mysql: %w", errors.Join(err, rows.Close()))
			}
			set[strings.ToLower(name)] = value
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, fmt.Errorf("near/mysql: %w", err)
		}
	}
	return set, nil
}

func checkSettings(f flavor, set map[string]string) error {
	var problems []error
	if err := refuseReplica(set["read_only"] == "ON"); err != nil {
		problems = append(problems, err)
	}
	if set["log_bin"] != "ON" {
		return errors.Join(append(problems, errors.New("near/mysql: the server has no binary log: want an administrator to start it with --log-bin --binlog-format=ROW"))...)
	}
	want := map[string]string{"binlog_format": "ROW", "binlog_row_image": "FULL"}
	if _, ok := f.(mySQL); ok {
		want["gtid_mode"] = "ON"
	}
	for name, value := range want {
		if got, ok := set[name]; ok && !strings.EqualFold(got, value) {
			problems = append(problems, fmt.Errorf("near/mysql: %s is %s: want an administrator to run SET GLOBAL %[1]s = %[3]s, and to set it in the server's configuration; it counts for connections made after that", name, got, value))
		}
	}
	receives := set["wsrep_on"] == "ON" || set["slaves_running"] != "" && set["slaves_running"] != "0"
	if receives && set["log_slave_updates"] == "OFF" {
		problems = append(problems, errors.New("near/mysql: the server does not log what it receives from others: want an administrator to start it with --log-slave-updates"))
	}
	return errors.Join(problems...)
}

// Numbers of the errors for a right that the user lacks: of a statement, and of asking for the log.
const accessDenied, loginDenied = "1227", "1045"

// checkFilters returns an error if the log leaves out a schema, or the user may not know.
func (l *Log) checkFilters(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, "SHOW MASTER STATUS")
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && fmt.Sprint(refused.Number) != accessDenied {
		rows, err = conn.QueryContext(ctx, "SHOW BINARY LOG STATUS") // since MySQL 8.2
	}
	if err != nil {
		return grant(ctx, conn, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return fmt.Errorf("near/mysql: asking for the state of the binary log: %w", errors.Join(err, rows.Err()))
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(sql.NullString)
	}
	if err := rows.Scan(values...); err != nil {
		return fmt.Errorf("near/mysql: %w", err)
	}
	filter := func(name string) []string {
		i := slices.Index(columns, name)
		if i < 0 || values[i].(*sql.NullString).String == "" {
			return nil
		}
		return strings.Split(values[i].(*sql.NullString).String, ",")
	}
	for _, t := range l.tables {
		if only := filter("Binlog_Do_DB"); only != nil && !slices.Contains(only, t.Schema) || slices.Contains(filter("Binlog_Ignore_DB"), t.Schema) {
			return fmt.Errorf("near/mysql: the binary log leaves out the schema of table %s: want an administrator to start the server without binlog-do-db and binlog-ignore-db", t.Full())
		}
	}
	return nil
}

// grant returns an error of the server, and what to run if the user lacks a right.
func grant(ctx context.Context, conn *sql.Conn, err error) error {
	var user string
	denied := strings.Contains(err.Error(), accessDenied) || strings.Contains(err.Error(), loginDenied)
	if !denied || conn.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&user) != nil {
		return fmt.Errorf("near/mysql: %w", err)
	}
	name, host, _ := strings.Cut(user, "@")
	return fmt.Errorf("near/mysql: user %s may not read the binary log: want an administrator to run GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '%s'@'%s': %w", user, name, host, err)
}

// layouts reads what rows in the log mean, from now on: what was altered before is in the log too, and
// is noticed there.
func (l *Log) layouts(ctx context.Context, conn *sql.Conn) (map[tableName]*layout, error) {
	layouts := map[tableName]*layout{}
	var problems []error
	for _, t := range l.tables {
		name := tableName{t.Schema, t.Name}
		one, err := l.layout(ctx, conn, t)
		if err != nil {
			problems = append(problems, fmt.Errorf("near/mysql: table %s: %w", t.Full(), err))
			continue
		}
		layouts[name] = one
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for _, t := range l.tables {
		if err := follow(ctx, conn, layouts, tableName{t.Schema, t.Name}); err != nil {
			return nil, err
		}
	}
	return layouts, nil
}

func (l *Log) layout(ctx context.Context, conn *sql.Conn, t rows.Checked) (*layout, error) {
	all, err := describe(ctx, conn, tableName{t.Schema, t.Name})
	if err != nil {
		return nil, err
	}
	one := &layout{keys: t.Keys, columns: map[string]column{}, count: len(all)}
	var problems []error
	for _, name := range t.Columns() {
		at := slices.IndexFunc(all, func(d description) bool { return d.name == name })
		if at < 0 {
			problems = append(problems, fmt.Errorf("it has no column %s: want Keys of columns that are there, as the catalog has their names", name))
			continue
		}
		if err := all[at].check(l.options.AnyCollation); err != nil {
			problems = append(problems, fmt.Errorf("column %s %w", name, err))
		}
		one.columns[name] = column{at, all[at].unsigned()}
	}
	return one, errors.Join(problems...)
}

// A description is what the catalog says of a column.
type description struct{ name, kind, full, charset, collation string }

// describe returns the columns of a table.
func describe(ctx context.Context, conn *sql.Conn, t tableName) (all []description, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE, COALESCE(c.CHARACTER_SET_NAME, ''), COALESCE(c.COLLATION_NAME, '')
		FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
		WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ? AND t.TABLE_TYPE <> 'VIEW' ORDER BY c.ORDINAL_POSITION`, t.schema, t.table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d description
		if err := rows.Scan(&d.name, &d.kind, &d.full, &d.charset, &d.collation); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if all == nil {
		return nil, fmt.Errorf("it is not there, or not for this user: want the name of a table as the catalog has it, with its schema if that is not the one of the DSN, and an administrator to run GRANT SELECT ON %s.%s TO the user", quoteName(t.schema), quoteName(t.table))
	}
	return all, nil
}

// integers has how many bits integers have.
var integers = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

// unsigned returns how many bits a number without sign has, or 0.
func (d description) unsigned() int {
	if strings.Contains(d.full, "unsigned") {
		return integers[d.kind]
	}
	return 0
}

// check returns an error if a value in the log is another one than the text that a program has.
func (d description) check(anyCollation bool) error {
	switch d.kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "date", "datetime":
		return nil
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
	default:
		return fmt.Errorf("is of type %s, whose values have another form in the binary log: want Keys of integers, decimals, texts, dates or datetimes", d.full)
	}
	switch {
	case !slices.Contains([]string{"utf8mb4", "utf8mb3", "utf8", "ascii"}, d.charset):
		return fmt.Errorf("has the character set %s: want utf8mb4, as by ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4, or other Keys", d.charset)
	case !anyCollation && !strings.HasSuffix(d.collation, "_bin"):
		return fmt.Errorf("is compared by %s, so that a load finds a row also by another spelling, and keeps it under a key that no change tells: want a collation such as utf8mb4_bin, or AnyCollation if loads compare what they read with what they were asked for", d.collation)
	}
	return nil
}

// reference matches a foreign key by which the server changes the table that has it.
var reference = regexp.MustCompile("(?m)FOREIGN KEY .*? REFERENCES (?:(`(?:[^`]|``)+`)\\.)?(`(?:[^`]|``)+`) \\((.*?)\\).* ON (?:DELETE|UPDATE) (?:CASCADE|SET)")

// follow adds the tables whose changes the server follows in a table, without a word in the log.
func follow(ctx context.Context, conn *sql.Conn, layouts map[tableName]*layout, t tableName) error {
	var ignored, statement string
	if err := conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+quoteName(t.schema)+"."+quoteName(t.table)).Scan(&ignored, &statement); err != nil {
		return fmt.Errorf("near/mysql: table %s.%s: %w", t.schema, t.table, err)
	}
	for _, m := range reference.FindAllStringSubmatch(statement, -1) {
		parent := tableName{t.schema, unquote(m[2])}
		if m[1] != "" {
			parent.schema = unquote(m[1])
		}
		all, err := describe(ctx, conn, parent)
		if err != nil {
			return fmt.Errorf("near/mysql: table %s.%s, whose changes the server follows in %s.%s: %w", parent.schema, parent.table, t.schema, t.table, err)
		}
		before := layouts[parent]
		if before == nil {
			layouts[parent] = &layout{count: len(all)}
		}
		for i, d := range all {
			if strings.Contains(m[3], quoteName(d.name)) && !slices.Contains(layouts[parent].followed, i) {
				layouts[parent].followed = append(layouts[parent].followed, i)
			}
		}
		if before == nil {
			if err := follow(ctx, conn, layouts, parent); err != nil {
				return err
			}
		}
	}
	return nil
}

// quoteName returns a name as an identifier of SQL.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func unquote(name string) string {
	return strings.ReplaceAll(strings.Trim(name, "`"), "``", "`")
}
