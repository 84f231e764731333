package mysql_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/mysql"
	"github.com/pinwheel-cache/pinwheel/near/mysql/mysqltest"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/stats"
)

const usersSQL = `CREATE TABLE users (id bigint PRIMARY KEY, email varchar(100), name text);
	INSERT INTO users VALUES (1, '1@x', 'one'), (2, '2@x', 'two'), (3, NULL, 'three')`

var users = mysql.Table{Name: "users", Keys: []string{"user:{id}", "user:email:{email}"}}

func tables(all ...mysql.Table) mysql.LogOptions { return mysql.LogOptions{Tables: all} }

// Catches: a kind of change that is not told, the old or the new key of a row, a key that is told
// of a row that did not change or of a transaction that was undone.
func TestLogTells(t *testing.T) {
	b := schema(t, usersSQL, "CREATE TABLE other LIKE users")
	w := neartest.Record(t, b.log(t, tables(users)), lag)
	for _, c := range []struct {
		what, sql string
		want      []string
	}{
		{"insert", "INSERT INTO users VALUES (4, '4@x', '')", []string{"user:4", "user:email:4@x"}},
		{"no key of a NULL", "UPDATE users SET name = 'c' WHERE id = 3", []string{"user:3"}},
		{"from NULL", "UPDATE users SET email = '3@x' WHERE id = 3", []string{"user:3", "user:email:3@x"}},
		{"old and new", "UPDATE users SET email = 'new@x' WHERE id = 1", []string{"user:1", "user:email:1@x", "user:email:new@x"}},
		{"another id", "UPDATE users SET id = 14 WHERE id = 4", []string{"user:4", "user:14", "user:email:4@x"}},
		{"delete", "DELETE FROM users WHERE id = 14", []string{"user:14", "user:email:4@x"}},
		{"replace", "REPLACE INTO users VALUES (2, 'two@x', '')", []string{"user:2", "user:email:2@x", "user:email:two@x"}},
		{"nothing new", "UPDATE users SET name = name WHERE id = 2", nil},
		{"another table", "INSERT INTO other VALUES (9, '9@x', '')", nil},
		{"undone", "BEGIN; UPDATE users SET name = 'x' WHERE id = 1; ROLLBACK", nil},
		{"a savepoint", "BEGIN; UPDATE users SET name = 'y' WHERE id = 1; SAVEPOINT s; UPDATE users SET name = 'y' WHERE id = 2; ROLLBACK TO s; COMMIT", []string{"user:1", "user:email:new@x"}},
		{"a savepoint before", "BEGIN; SAVEPOINT s; UPDATE users SET name = 'z' WHERE id = 1; COMMIT", []string{"user:1", "user:email:new@x"}},
		{"another file", "FLUSH BINARY LOGS; UPDATE users SET name = 'f' WHERE id = 3", []string{"user:3", "user:email:3@x"}},
		{"as little as possible in the log", "SET SESSION binlog_row_image = 'MINIMAL'; INSERT INTO users VALUES (5, '5@x', ''); SET SESSION binlog_row_image = 'FULL'", []string{"user:5", "user:email:5@x"}},
	} {
		tells(t, w, c.what, func() { b.exec(t, c.sql) }, c.want...)
	}
	for what, sql := range map[string]string{
		"TRUNCATE":                   "TRUNCATE users",
		"a column is not in the log": "INSERT INTO users VALUES (6, '6@x', ''); SET SESSION binlog_row_image = 'MINIMAL'; UPDATE users SET name = 'q' WHERE id = 6; SET SESSION binlog_row_image = 'FULL'",
		"a statement in the log":     "SET SESSION binlog_format = 'STATEMENT'; INSERT INTO other VALUES (10, '', ''); SET SESSION binlog_format = 'ROW'",
		"a table like it":            "CREATE TABLE users_2 LIKE users",
	} {
		forgets(t, w, what, func() { b.exec(t, sql) })
	}
	tells(t, w, "harmless", func() { b.exec(t, "ANALYZE TABLE users; CREATE TABLE third (id int); DROP TABLE third; FLUSH TABLES") })
}

// Catches: an XA transaction that is told when it is prepared and cannot be read yet, that is not
// told when it is committed, or told when it was undone.
func TestLogXA(t *testing.T) {
	b := schema(t, usersSQL)
	before := b.connect(t)
	if _, err := before.ExecContext(t.Context(), "XA START 'early'; UPDATE users SET name = 'e' WHERE id = 3; XA END 'early'; XA PREPARE 'early'"); err != nil {
		t.Fatal(err)
	}
	w := neartest.Record(t, b.log(t, tables(users)), lag)
	tells(t, w, "prepared", func() {
		b.exec(t, "XA START 'a', 'b', 7; UPDATE users SET name = 'a' WHERE id = 1; XA END 'a', 'b', 7; XA PREPARE 'a', 'b', 7")
	})
	tells(t, w, "committed", func() { b.exec(t, "XA COMMIT 'a', 'b', 7") }, "user:1", "user:email:1@x")
	tells(t, w, "undone", func() {
		b.exec(t, "XA START 'u'; UPDATE users SET name = 'u' WHERE id = 2; XA END 'u'; XA PREPARE 'u'; XA ROLLBACK 'u'")
	})
	tells(t, w, "in one phase", func() {
		b.exec(t, "XA START 'o'; UPDATE users SET name = 'o' WHERE id = 2; XA END 'o'; XA COMMIT 'o' ONE PHASE")
	}, "user:2", "user:email:2@x")
	forgets(t, w, "prepared before the log was read", func() {
		if _, err := before.ExecContext(t.Context(), "XA COMMIT 'early'"); err != nil {
			t.Fatal(err)
		}
	})
}

// Catches: a text of a column that is another one in the log than for those who read it.
func TestLogColumnsOfAllTypes(t *testing.T) {
	b := schema(t, "CREATE TABLE types (t tinyint, tu tinyint unsigned, s smallint, su smallint unsigned, m mediumint, mu mediumint unsigned, i int, iu int unsigned, b bigint, bu bigint unsigned,"+
		"`bool` bool, d decimal(20,5), dd decimal(5,0), `a ``b` char(10), v varchar(100), x mediumtext, da date, dt datetime, dt6 datetime(6), g int AS (t + 1) VIRTUAL, p varchar(5) CHARACTER SET ascii COLLATE ascii_bin)")
	var keys []string
	columns := []string{"t", "tu", "s", "su", "m", "mu", "i", "iu", "b", "bu", "bool", "d", "dd", "a `b", "v", "x", "da", "dt", "dt6", "g", "p"}
	for _, column := range columns {
		keys = append(keys, column+"={"+column+"}")
	}
	w := neartest.Record(t, b.log(t, tables(mysql.Table{Name: "types", Keys: keys})), lag)
	for what, values := range map[string]string{
		"high":    `127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, true, 123456789012345.67890, 99999, 'ä€😀', 'a''b\\c{}', 'x', '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999', DEFAULT, 'z'`,
		"low":     `-128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, false, -0.00001, -7, '', '', '', '0000-00-00', '0000-00-00 00:00:00', '1000-01-01 00:00:00', DEFAULT, ''`,
		"between": `-1, 128, -1, 32768, -1, 8388608, -1, 2147483648, -1, 9223372036854775808, 3, 10, 0, 'trail  ', 'trail  ', ' lead', '2026-11-24', '2026-11-24 01:02:03', '2026-11-24 01:02:03.5', DEFAULT, 'q'`,
	} {
		var want []string
		b.exec(t, "SET SESSION sql_mode = ''; INSERT INTO types VALUES ("+values+")")
		for _, column := range columns {
			var text string
			check(t, b.conn.QueryRowContext(t.Context(), "SELECT CAST(`"+strings.ReplaceAll(column, "`", "``")+"` AS CHAR) FROM types").Scan(&text))
			want = append(want, column+"="+text)
		}
		tells(t, w, what, func() { b.exec(t, "DELETE FROM types") }, want...)
	}
}

// Catches: rows that the server changes by itself, which are not in the log.
func TestLogFollowsForeignKeys(t *testing.T) {
	b := schema(t, `CREATE TABLE owners (id int PRIMARY KEY, name text);
		CREATE TABLE accounts (id int PRIMARY KEY, owner int, n int, CONSTRAINT c FOREIGN KEY (owner) REFERENCES owners (id) ON DELETE CASCADE);
		CREATE TABLE users (id int PRIMARY KEY, account int, email varchar(99), FOREIGN KEY (account) REFERENCES accounts (id) ON DELETE SET NULL ON UPDATE CASCADE);
		CREATE TABLE strict (id int PRIMARY KEY, account int, FOREIGN KEY (account) REFERENCES accounts (id));
		INSERT INTO owners VALUES (1, ''), (2, ''); INSERT INTO accounts VALUES (1, 1, 0), (2, 2, 0), (3, 2, 0); INSERT INTO users VALUES (1, 1, ''), (2, 2, '')`)
	w := neartest.Record(t, b.log(t, tables(users)), lag)
	tells(t, w, "another column", func() {
		b.exec(t, "UPDATE accounts SET n = 1; UPDATE owners SET name = 'n'; INSERT INTO accounts VALUES (4, 2, 0)")
	})
	forgets(t, w, "updated", func() { b.exec(t, "UPDATE accounts SET id = 5 WHERE id = 2") })
	forgets(t, w, "removed", func() { b.exec(t, "DELETE FROM accounts WHERE id = 5") })
	forgets(t, w, "removed further up", func() { b.exec(t, "DELETE FROM owners WHERE id = 1") })
	strict := neartest.Record(t, b.log(t, tables(mysql.Table{Name: "strict", Keys: []string{"{id}"}})), lag)
	tells(t, strict, "nothing follows", func() { b.exec(t, "DELETE FROM accounts WHERE id = 3") })
}

// Catches: a column that is found at its old place after a table was altered, and a session that
// begins anew whenever some other table is.
func TestLogOfAlteredTable(t *testing.T) {
	b := schema(t, usersSQL, "CREATE TABLE other (id int)")
	l := b.log(t, tables(users))
	w := neartest.Record(t, l, lag)
	w.AwaitAgain(t, "an altered table", func() {
		b.exec(t, "ALTER TABLE users DROP COLUMN name, ADD COLUMN age int FIRST; UPDATE users SET age = 1 WHERE id = 1")
	})
	tells(t, w, "after it", func() { b.exec(t, "UPDATE users SET age = 2 WHERE id = 2") }, "user:2", "user:email:2@x")
	before := report(l).SourceErrors
	b.exec(t, "ALTER TABLE other ADD COLUMN n int; RENAME TABLE other TO another; CREATE INDEX n ON another (n)")
	w.AwaitNow(t)
	if got := report(l).SourceErrors; got != before {
		t.Errorf("another table was altered: %d sessions ended", got-before)
	}
	for what, sql := range map[string]string{
		"an altered table after all": "SET STATEMENT max_statement_time = 9 FOR ALTER TABLE users ADD COLUMN n int",
		"a renamed table":            "RENAME TABLE another TO users_2, users TO users_3, users_3 TO users",
	} {
		w.AwaitAgain(t, what, func() { b.exec(t, sql) })
	}
	w.AwaitAgain(t, "a schema that goes and comes", func() {
		b.exec(t, "DROP DATABASE "+b.name+"; CREATE DATABASE "+b.name+"; USE "+b.name+"; "+usersSQL)
	})
	tells(t, w, "after that", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id = 2") }, "user:2", "user:email:2@x")
}

// Catches: a transaction whose keys fill the memory.
func TestLogMaxKeys(t *testing.T) {
	b := schema(t, usersSQL)
	w := neartest.Record(t, b.log(t, mysql.LogOptions{Tables: []mysql.Table{users}, MaxKeys: 20}), lag)
	tells(t, w, "few", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id <= 2") }, "user:1", "user:2", "user:email:1@x", "user:email:2@x")
	forgets(t, w, "more", func() { b.exec(t, "INSERT INTO users SELECT seq, seq, seq FROM seq_101_to_1111") })
	tells(t, w, "few again", func() { b.exec(t, "UPDATE users SET name = 'm' WHERE id = 1") }, "user:1", "user:email:1@x")
}

// Catches: a change that is told while it cannot be read, as its commit waits for a replica, and a
// source that vouches for nothing meanwhile.
func TestLogWaitsForTheGate(t *testing.T) {
	s, err := mysqltest.Start()
	b := schemaOf(t, mysqltest.Started(t, s, err), usersSQL)
	l := b.log(t, tables(users))
	w := neartest.Record(t, l, lag)
	check(t, s.HoldCommits())
	writer, done := b.connect(t), make(chan error, 1)
	go func() {
		_, err := writer.ExecContext(t.Context(), "UPDATE users SET name = 'new' WHERE id = 1")
		done <- err
	}()
	told := false
	neartest.InTime(t, "a change that waits", func() {
		for report(l).Backlog == 0 && !told {
			w.AwaitNow(t)
			w.Lock()
			told = len(w.Keys) > 0
			w.Unlock()
		}
	})
	if told {
		t.Fatal("told before it can be read")
	}
	tells(t, w, "committed, and not to be read", func() {})
	flushed := make(chan error, 1)
	go func() { flushed <- s.Exec("FLUSH BINARY LOGS") }() // which begins a file, and waits
	for file := ""; !strings.HasSuffix(file, "2"); {
		var ignored string
		check(t, b.conn.QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Binlog_snapshot_file'").Scan(&ignored, &file))
	}
	for asked := report(l).Polls; report(l).Polls < asked+5; {
		time.Sleep(time.Millisecond)
	}
	w.Lock()
	alls := w.Alls
	if len(w.Keys) > 0 {
		t.Errorf("told %q, which cannot be read, when the log went on in another file", w.Keys)
	}
	w.Unlock()
	var name string
	check(t, b.conn.QueryRowContext(t.Context(), "SELECT name FROM users WHERE id = 1").Scan(&name))
	if name != "one" {
		t.Errorf("the commit does not wait: %q can be read", name)
	}
	check(t, s.ReleaseCommits())
	check(t, <-done)
	check(t, <-flushed)
	w.Await(t, "the change", func() bool { return w.Alls > alls || slices.Contains(w.Keys, "user:1") }) // snapshots may go back to the file before
}

// Catches: changes during a break that stay untold.
func TestLogAfterABreak(t *testing.T) {
	s, err := mysqltest.Start()
	b := schemaOf(t, mysqltest.Started(t, s, err), usersSQL)
	l := b.log(t, tables(users))
	w := neartest.Record(t, l, lag)
	kill := func(command string) string {
		return "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; FOR c IN (SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command " + command + ") DO KILL c.id; END FOR; END"
	}
	for what, f := range map[string]func(){
		"stream":              func() { check(t, s.Exec(kill("= 'Binlog Dump'"))) },
		"questions":           func() { check(t, s.Exec(kill("IN ('Sleep', 'Query')"))) },
		"logs are gone":       func() { check(t, s.Exec("RESET MASTER")) },
		"a crash":             func() { s.Crash(); check(t, s.Restart()) },
		"shut down":           func() { check(t, s.Shutdown()); check(t, s.Restart()) },
		"it became a replica": func() { check(t, s.Exec("SET GLOBAL read_only = ON; DO SLEEP(0.3); SET GLOBAL read_only = OFF")) },
	} {
		w.AwaitNow(t)
		w.Lock()
		losts := len(w.Losts)
		w.Unlock()
		w.AwaitAgain(t, what, f)
		w.Await(t, what, func() bool { return len(w.Losts) > losts })
	}
	if n := report(l); n.SourceErrors < 6 || n.Polls == 0 || n.RoundTrip <= 0 || n.RoundTrip > time.Minute {
		t.Errorf("%+v", n)
	}
	check(t, s.Exec("UPDATE "+b.name+".users SET name = 'z' WHERE id = 1"))
	w.AwaitKey(t, "user:email:1@x")
}

func report(l *mysql.Log) (n stats.Near) {
	l.Report(&n)
	return n
}

// Catches: a start that would not hear everything, and an error that does not say what to run.
func TestLogRefused(t *testing.T) {
	b := schema(t, usersSQL, "CREATE TABLE odd (e enum('a'), f float, j json, l varchar(9) CHARACTER SET latin1 COLLATE latin1_bin, c varchar(9) COLLATE utf8mb4_general_ci, ts timestamp, bits bit(3), bin varbinary(9))",
		"CREATE VIEW seen AS SELECT * FROM users", "CREATE TABLE parents (id int PRIMARY KEY)", "CREATE TABLE children (id int PRIMARY KEY, FOREIGN KEY (id) REFERENCES parents (id) ON DELETE CASCADE)")
	refused := func(want string, o mysql.LogOptions, replacements ...string) {
		t.Helper()
		if o.Tables == nil {
			o.Tables = []mysql.Table{users}
		}
		if _, err := mysql.NewLog(strings.NewReplacer(replacements...).Replace(b.dsn), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	key := func(table, key string) mysql.LogOptions {
		return tables(mysql.Table{Name: table, Keys: []string{key}})
	}
	refused("no tables", mysql.LogOptions{Tables: []mysql.Table{}})
	refused("MaxKeys is -1", mysql.LogOptions{MaxKeys: -1})
	refused("an address of", mysql.LogOptions{}, "@tcp(", "@pigeon(")
	refused("the DSN has no database", mysql.LogOptions{}, "/"+b.name+"?", "/?")
	refused("it is not there", key("nobody", "{id}"))
	refused("it is not there", key("seen", "{id}"))
	refused("it has no column none", key("users", "{none}"))
	refused("want utf8mb4", key("odd", "{l}"))
	refused("column c is compared by utf8mb4_general_ci", key("odd", "{c}"))
	for _, column := range []string{"e", "f", "j", "ts", "bits", "bin"} {
		if column == "j" { // which is longtext with utf8mb4_bin
			continue
		}
		refused("column "+column+" is of type", key("odd", "{"+column+"}"))
	}
	if _, err := mysql.NewLog(b.dsn, mysql.LogOptions{Tables: []mysql.Table{{Name: "odd", Keys: []string{"{c}"}}}, AnyCollation: true}); err != nil {
		t.Error(err)
	}
	check(t, b.server.Exec("CREATE USER "+b.name+"@'127.0.0.1'"))
	few := []string{"root@", b.name + "@"}
	grant := func(what string) { t.Helper(); check(t, b.server.Exec("GRANT "+what+" TO "+b.name+"@'127.0.0.1'")) }
	grant("SELECT ON " + b.name + ".children")
	refused("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '"+b.name+"'@'127.0.0.1'", key("children", "{id}"), few...)
	grant("REPLICATION CLIENT ON *.*")
	refused("GRANT SELECT ON `"+b.name+"`.`users`", mysql.LogOptions{}, few...)
	refused("GRANT SELECT ON `"+b.name+"`.`parents`", key("children", "{id}"), few...)
	grant("SELECT ON " + b.name + ".parents")
	refused("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '"+b.name+"'@'127.0.0.1'", key("children", "{id}"), few...)
	grant("REPLICATION SLAVE ON *.*")
	l, err := mysql.NewLog(strings.NewReplacer(few...).Replace(b.dsn), key("children", "{id}"))
	check(t, err) // these rights are enough
	neartest.Record(t, l, lag)
}

// Catches: settings of a server with which its log lacks changes.
func TestLogRefusedServers(t *testing.T) {
	for want, setting := range map[string]string{
		"SET GLOBAL binlog_format = ROW":     "binlog-format=MIXED",
		"SET GLOBAL binlog_row_image = FULL": "binlog-row-image=MINIMAL",
		"want the primary":                   "read-only",
		"leaves out the schema":              "binlog-ignore-db=test",
		"without binlog-do-db":               "binlog-do-db=elsewhere",
		"--log-bin":                          "skip-log-bin",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			s, err := mysqltest.Start(setting)
			mysqltest.Started(t, s, err)
			check(t, s.Exec(usersSQL))
			if _, err := mysql.NewLog(s.DSN(), tables(users)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
