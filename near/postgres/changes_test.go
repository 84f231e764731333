package postgres_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/stats"
)

const usersSQL = `CREATE TABLE users (id bigint PRIMARY KEY, email text, name text);
INSERT INTO users SELECT n, n || '@x', 'n' FROM generate_series(1, 9) n;
ALTER TABLE users REPLICA IDENTITY FULL`

var users = postgres.Table{Name: "users", Keys: []string{"user:{id}", "user:email:{email}"}}

// Catches: a kind of change that is not told, the old or the new key of a row, a key that is told
// of a row that did not change or of a transaction that was undone.
func TestChangesTells(t *testing.T) {
	b := database(t, usersSQL)
	w := neartest.Record(t, b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{users}}), lag)
	testTells(t, b, w)
}

func testTells(t *testing.T, b *base, w *neartest.Recorder) {
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"INSERT INTO users VALUES (10, '10@x', 'n')", []string{"user:10", "user:email:10@x"}},
		{"UPDATE users SET name = 'm' WHERE id = 1", []string{"user:1", "user:email:1@x"}},
		{"UPDATE users SET email = 'one@x' WHERE id = 1", []string{"user:1", "user:email:1@x", "user:email:one@x"}},
		{"UPDATE users SET id = 11 WHERE id = 1", []string{"user:1", "user:11", "user:email:one@x"}},
		{"DELETE FROM users WHERE id = 11", []string{"user:11", "user:email:one@x"}},
		{"INSERT INTO users VALUES (2, 'y', 'z') ON CONFLICT (id) DO UPDATE SET name = 'z'", []string{"user:2", "user:email:2@x"}},
		{"UPDATE users SET email = NULL WHERE id = 2", []string{"user:2", "user:email:2@x"}},
		{"UPDATE users SET email = '' WHERE id = 2", []string{"user:2", "user:email:"}},
		{`UPDATE users SET email = E'a''b"\\c\n$1{id}' WHERE id = 2`, []string{"user:2", "user:email:", "user:email:a'b\"\\c\n$1{id}"}},
		{"BEGIN; UPDATE users SET name = 'r' WHERE id = 3; ROLLBACK", nil},
		{"BEGIN; SAVEPOINT s; UPDATE users SET name = 'r' WHERE id = 3; ROLLBACK TO s; UPDATE users SET name = 's' WHERE id = 4; COMMIT", []string{"user:4", "user:email:4@x"}},
		{"BEGIN; SAVEPOINT s; UPDATE users SET name = 's' WHERE id = 5; RELEASE s; COMMIT", []string{"user:5", "user:email:5@x"}},
		{"DO $$ BEGIN UPDATE users SET name = 'e' WHERE id = 6; BEGIN UPDATE users SET name = 'e' WHERE id = 7; RAISE EXCEPTION 'undo'; EXCEPTION WHEN others THEN END; END $$", []string{"user:6", "user:email:6@x"}},
		{"UPDATE users SET name = 'n' WHERE id > 100", nil},
		{"SET session_replication_role = replica; UPDATE users SET name = 'q' WHERE id = 8; RESET session_replication_role", []string{"user:8", "user:email:8@x"}},
	} {
		tells(t, w, c.sql, func() { b.exec(t, c.sql) }, c.want...)
	}
	tells(t, w, "COPY", func() {
		_, err := b.conn.CopyFrom(t.Context(), pgx.Identifier{"users"}, []string{"id", "email"}, pgx.CopyFromRows([][]any{{20, "20@x"}, {21, nil}}))
		check(t, err)
	}, "user:20", "user:21", "user:email:20@x")
	tells(t, w, "two-phase commit, while it is prepared", func() {
		b.exec(t, "BEGIN; UPDATE users SET name = 'p' WHERE id = 9; PREPARE TRANSACTION '"+b.name+"'")
	})
	tells(t, w, "two-phase commit", func() { b.exec(t, "COMMIT PREPARED '"+b.name+"'") }, "user:9", "user:email:9@x")
	forgets(t, w, "TRUNCATE", func() { b.exec(t, "TRUNCATE users") })
}

// Catches: a cursor that passes by a transaction which is still open, and one that stays there,
// so that everything after it is told again.
func TestChangesOfALateCommit(t *testing.T) {
	b := database(t, usersSQL)
	c := b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{users}})
	w := neartest.Record(t, c, lag)
	late, later := b.connect(t), b.connect(t)
	tells(t, w, "open", func() {
		run(t, late, "BEGIN; UPDATE users SET name = 'late' WHERE id = 1")
		run(t, later, "BEGIN; SELECT pg_current_xact_id()")
	})
	for i := range 3 {
		tells(t, w, "meanwhile", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id = 2") }, "user:2", "user:email:2@x")
		tells(t, w, "nothing", func() {})
		if i == 0 {
			run(t, later, "UPDATE users SET name = 'later' WHERE id = 3")
		}
	}
	if n := report(c); n.Backlog < 3 {
		t.Errorf("a backlog of %d", n.Backlog)
	}
	tells(t, w, "the later one", func() { run(t, later, "COMMIT") }, "user:3", "user:email:3@x")
	tells(t, w, "the late one", func() { run(t, late, "COMMIT") }, "user:1", "user:email:1@x")
}

func report(r near.Reporter) (n stats.Near) {
	r.Report(&n)
	return n
}

// Catches: a poll that reads what it has told again while a transaction is open.
func TestPollReadsOnlyWhatIsNew(t *testing.T) {
	b := database(t, usersSQL, postgres.SQL(users))
	late := b.connect(t)
	run(t, late, "BEGIN; UPDATE users SET name = 'late' WHERE id = 1")
	var before string
	check(t, b.conn.QueryRow(t.Context(), "SELECT pg_current_snapshot()::text").Scan(&before))
	for range 50 {
		b.exec(t, "UPDATE users SET name = 'n' WHERE id = 2")
	}
	var since string
	check(t, b.conn.QueryRow(t.Context(), "SELECT pg_current_snapshot()::text").Scan(&since))
	for snapshot, want := range map[string]int{before: 100, since: 0} {
		if keys, err := postgres.PollKeys(t.Context(), b.conn, snapshot); err != nil || len(keys) != want {
			t.Errorf("since %s: %d keys, %v, want %d", snapshot, len(keys), err, want)
		}
	}
	run(t, late, "COMMIT")
	if keys, err := postgres.PollKeys(t.Context(), b.conn, since); err != nil || len(keys) != 2 {
		t.Errorf("after the late commit: %q, %v", keys, err)
	}
}

// Catches: names or texts that are not quoted, a text that depends on the session of the writer,
// and a key of a NULL.
func TestColumnsOfAllTypes(t *testing.T) {
	b, table := typesTable(t)
	b.exec(t, "SET standard_conforming_strings = off")
	b.exec(t, postgres.SQL(table))
	b.exec(t, "SET standard_conforming_strings = on")
	w := neartest.Record(t, b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{table}}), lag)
	testTypes(t, b, w)
}

// typesTable makes a table with columns of all types and names that need quotes.
func typesTable(t *testing.T) (*base, postgres.Table) {
	b := database(t, `CREATE SCHEMA "S p""a'ce"; CREATE TYPE mood AS ENUM ('ok', 'so so');
	CREATE DOMAIN flag AS boolean; CREATE DOMAIN code AS char(5);
	CREATE TABLE "S p""a'ce"."T {1}$pinwheel$\" (
		"I d" bigint PRIMARY KEY, "q""'\uote" text, b boolean, c char(5), f double precision, r real, n numeric, d date, ts timestamp, tz timestamptz,
		iv interval, by bytea, u uuid, ip inet, net cidr, m mood, vc varchar(9), x "char", na name, fl flag, co code, tx text[], j jsonb, t time, mo money, o oid)`)
	table := postgres.Table{Name: `S p"a'ce.T {1}$pinwheel$\`, Keys: []string{`a'\"b:{I d}/{q"'\uote}`, "null:{I d}:{tx}:{q\"'\\uote}"}}
	for _, column := range strings.Fields("b c f r n d ts tz iv by u ip net m vc x na fl co tx j t mo o") {
		table.Keys = append(table.Keys, column+"={"+column+"}")
	}
	return b, table
}

func testTypes(t *testing.T, b *base, w *neartest.Recorder) {
	b.exec(t, `SET datestyle = 'German, DMY'; SET intervalstyle = 'sql_standard'; SET timezone = 'Asia/Tokyo'; SET bytea_output = 'escape'; SET extra_float_digits = -5`)
	want := []string{
		`a'\"b:7/x`, "b=true", "c=ab", "f=0.1", "r=0.3", "n=1.50", "d=2026-11-23", "ts=2026-11-23 04:05:06.7", "tz=2026-11-22 19:05:06+00", "iv=1 day 02:03:00",
		`by=\xff00`, "u=b2aa8b2c-7a63-4e27-9be6-6f2bbd5e0d3f", "ip=10.0.0.1/32", "net=10.0.0.0/8", "m=so so", "vc=v c", "x=x", "na=n", "fl=false", "co=xy", `j={"a": 1}`, "t=01:02:03", "mo=$1.50", "o=42",
	}
	tells(t, w, "one of each", func() {
		b.exec(t, `INSERT INTO "S p""a'ce"."T {1}$pinwheel$\" VALUES (7, 'x', true, 'ab', 0.1, 0.3, 1.50, '23.11.2026', '23.11.2026 04:05:06.7', '23.11.2026 04:05:06',
			'1 2:3:0', '\xff00', 'B2AA8B2C7A634E279BE66F2BBD5E0D3F', '10.0.0.1', '10.0.0.0/8', 'so so', 'v c', 'x', 'n', false, 'xy', NULL, '{"a":1}', '1:2:3', 1.5, 42)`)
	}, want...)
}

// Catches: a partition whose rows or TRUNCATE are not told.
func TestPartitions(t *testing.T) {
	b := database(t, `CREATE TABLE events (id int, day int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
		CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (1) TO (10);
		CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (10) TO (20)`)
	events := postgres.Table{Name: "events", Keys: []string{"event:{id}:{day}"}}
	w := neartest.Record(t, b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{events}}), lag)
	b.exec(t, "CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (20) TO (30)")
	tells(t, w, "insert", func() { b.exec(t, "INSERT INTO events VALUES (1, 1), (2, 12), (3, 22)") }, "event:1:1", "event:2:12", "event:3:22")
	tells(t, w, "in a partition", func() { b.exec(t, "INSERT INTO events_3 VALUES (4, 23)") }, "event:4:23")
	tells(t, w, "as a replica", func() {
		b.exec(t, "SET session_replication_role = replica; DELETE FROM events WHERE id = 4; RESET session_replication_role")
	}, "event:4:23")
	tells(t, w, "to another partition", func() { b.exec(t, "UPDATE events SET day = 2 WHERE id = 2") }, "event:2:12", "event:2:2")
	forgets(t, w, "TRUNCATE of a partition", func() { b.exec(t, "TRUNCATE events_1") })
	b.exec(t, postgres.SQL(events))
	forgets(t, w, "TRUNCATE of a later one", func() { b.exec(t, "TRUNCATE events_3") })
	forgets(t, w, "TRUNCATE of all", func() { b.exec(t, "TRUNCATE events") })
	forgets(t, w, "forget", func() { b.exec(t, "BEGIN; DROP TABLE events_2; SELECT pinwheel.forget(); COMMIT") })
}

// Catches: a second run that fails or locks a table for nothing, new keys that are not told, and a
// transaction with the old triggers that is open when the new ones are there.
func TestSQLAgain(t *testing.T) {
	b := database(t, usersSQL, postgres.SQL(users))
	open := b.connect(t)
	run(t, open, "BEGIN; UPDATE users SET name = 'open' WHERE id = 1")
	b.exec(t, "SET lock_timeout = '200ms'")
	b.exec(t, postgres.SQL(users)) // needs no lock
	more := users
	more.Keys = append([]string{"all users"}, users.Keys...)
	if _, err := b.conn.Exec(t.Context(), postgres.SQL(more)); err == nil || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("new keys beside an open transaction: %v", err)
	}
	if _, err := postgres.NewChanges(b.pool(t), postgres.ChangesOptions{Tables: []postgres.Table{more}}); err == nil || !strings.Contains(err.Error(), "no triggers for the keys all users, user:{id}") {
		t.Errorf("NewChanges before the migration: %v", err)
	}
	run(t, open, "COMMIT")
	w := neartest.Record(t, b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{more}}), lag)
	tells(t, w, "new keys", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id = 1") }, "all users", "user:1", "user:email:1@x")
	b.exec(t, "DROP SCHEMA pinwheel CASCADE")
	b.exec(t, "UPDATE users SET name = 'free' WHERE id = 1")
}

// Catches: an early start that would never hear anything, and an error that does not say what to
// run.
func TestRefused(t *testing.T) {
	b := database(t, usersSQL, "CREATE ROLE "+refusedRole+" LOGIN")
	t.Cleanup(func() { b.finally(t, "DROP OWNED BY "+refusedRole+"; DROP ROLE "+refusedRole) })
	refused := func(want string, o postgres.ChangesOptions, replacements ...string) {
		t.Helper()
		if o.Tables == nil {
			o.Tables = []postgres.Table{users}
		}
		if _, err := postgres.NewChanges(b.pool(t, replacements...), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused("no schema pinwheel with the table of changes: want an administrator to run what postgres.SQL returns", postgres.ChangesOptions{})
	refused(`database "none" does not exist`, postgres.ChangesOptions{}, "/"+b.name, "/none")
	b.exec(t, postgres.SQL(users))
	refused("there is no table public.nobody", postgres.ChangesOptions{Tables: []postgres.Table{{Name: "nobody", Keys: []string{"{id}"}}}})
	refused("table public.users has no triggers for the keys user:{name}", postgres.ChangesOptions{Tables: []postgres.Table{{Name: "users", Keys: []string{"user:{name}"}}}})
	refused("what postgres.WakeSQL returns", postgres.ChangesOptions{Listen: true})
	refused("Retention is 1s", postgres.ChangesOptions{Retention: time.Second})
	refused("MaxKeys is -1", postgres.ChangesOptions{MaxKeys: -1})
	refused("it is there twice", postgres.ChangesOptions{Tables: []postgres.Table{users, users}})
	as := []string{"postgres@", refusedRole + "@"}
	refused(`GRANT USAGE ON SCHEMA pinwheel TO "`+refusedRole+`"`, postgres.ChangesOptions{}, as...)
	b.exec(t, "GRANT USAGE ON SCHEMA pinwheel TO "+refusedRole)
	refused("GRANT SELECT ON ALL TABLES IN SCHEMA pinwheel", postgres.ChangesOptions{}, as...)
	b.exec(t, "ALTER TABLE users DISABLE TRIGGER pinwheel_row")
	refused("table public.users has no triggers", postgres.ChangesOptions{})
	b.exec(t, postgres.SQL(users)+"ALTER TABLE pinwheel.changes SET UNLOGGED")
	refused("ALTER TABLE pinwheel.changes SET LOGGED", postgres.ChangesOptions{})
	for want, table := range map[string]postgres.Table{
		"column \"none\" does not exist":      {Name: "users", Keys: []string{"{none}"}},
		"relation \"public.no\" does not":     {Name: "no", Keys: []string{"{id}"}},
		`key "user:{id": a "{" without "}"`:   {Name: "users", Keys: []string{"user:{id"}},
		`key "user:id}": a "}" without "{"`:   {Name: "users", Keys: []string{"user:id}"}},
		"near/postgres: table \"\": an empty": {Keys: []string{"{id}"}},
		"no Keys":                             {Name: "users"},
		"an empty name":                       {Name: "users", Keys: []string{"user:{}"}},
		`key "": it is empty`:                 {Name: "users", Keys: []string{""}},
	} {
		if _, err := b.conn.Exec(t.Context(), postgres.SQL(table)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("SQL: %v, want %q", err, want)
		}
	}
}

const refusedRole = "refused"

// Catches: rights that the documentation does not name.
func TestLeastRights(t *testing.T) {
	b := database(t, usersSQL, postgres.SQL(users), `CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN;
		GRANT USAGE ON SCHEMA pinwheel TO reader;
		GRANT SELECT ON ALL TABLES IN SCHEMA pinwheel TO reader;
		GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON users TO writer`)
	t.Cleanup(func() { b.finally(t, "DROP OWNED BY reader, writer; DROP ROLE reader, writer") })
	var failed []error
	c, err := postgres.NewChanges(b.pool(t, "postgres@", "reader@"), postgres.ChangesOptions{
		Tables: []postgres.Table{users}, OnError: func(err error) {
			if !pgconn.Timeout(err) { // on a busy machine
				failed = append(failed, err)
			}
		},
	})
	check(t, err)
	w := neartest.Record(t, c, lag)
	writer, err := pgx.Connect(t.Context(), strings.Replace(b.url, "postgres@", "writer@", 1))
	check(t, err)
	defer writer.Close(context.Background())
	tells(t, w, "a writer without rights to the table of changes", func() { run(t, writer, "UPDATE users SET name = 'w' WHERE id = 1") }, "user:1", "user:email:1@x")
	forgets(t, w, "its TRUNCATE", func() { run(t, writer, "TRUNCATE users") })
	if len(failed) > 0 {
		t.Error(failed)
	}
}

// Catches: more keys than memory has room for, or than MaxKeys, that are told one by one, or not.
func TestMaxKeys(t *testing.T) {
	b := database(t, usersSQL)
	w := neartest.Record(t, b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{users}, MaxKeys: 20}), lag)
	tells(t, w, "as many", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id <= 5") },
		"user:1", "user:2", "user:3", "user:4", "user:5", "user:email:1@x", "user:email:2@x", "user:email:3@x", "user:email:4@x", "user:email:5@x")
	forgets(t, w, "more", func() { b.exec(t, "INSERT INTO users SELECT n, n, n FROM generate_series(101, 111) n") })
	forgets(t, w, "many more", func() { b.exec(t, "INSERT INTO users SELECT n, n, n FROM generate_series(201, 1111) n") })
	late := b.connect(t)
	tells(t, w, "open", func() { run(t, late, "BEGIN; INSERT INTO users SELECT n, n, n FROM generate_series(2001, 2111) n") })
	forgets(t, w, "many of a late one", func() { run(t, late, "COMMIT") })
	tells(t, w, "nothing", func() {})
}

// Catches: changes that stay for ever, changes that go before a watcher has read them, and a
// watcher that does not notice that they have gone.
func TestRetention(t *testing.T) {
	b := database(t, usersSQL, postgres.SQL(users))
	rows := func() (n int) {
		check(t, b.conn.QueryRow(t.Context(), "SELECT count(*) FROM pinwheel.changes").Scan(&n))
		return n
	}
	snapshot := func() (s string) {
		check(t, b.conn.QueryRow(t.Context(), "SELECT pg_current_snapshot()::text").Scan(&s))
		return s
	}
	kept := func(since string) bool {
		t.Helper()
		keeps, err := postgres.PollKeeps(t.Context(), b.conn, since)
		check(t, err)
		return keeps
	}
	prune := "SELECT pinwheel.prune('1 minute')"
	age := func(d string) { b.exec(t, "UPDATE pinwheel.marks SET at = at - interval '"+d+"'") }
	b.exec(t, "SELECT pinwheel.start()")

	early := snapshot()
	b.exec(t, "UPDATE users SET name = 'a' WHERE id = 1")
	late := b.connect(t)
	run(t, late, "BEGIN; UPDATE users SET name = 'late' WHERE id = 2")
	during := snapshot()
	b.exec(t, "UPDATE users SET name = 'b' WHERE id = 3")
	age("50 seconds")
	b.exec(t, prune) // the mark of the installation is too young to remove anything
	if got := rows(); got != 2 || !kept(early) {
		t.Errorf("%d rows, early: %t", got, kept(early))
	}
	age("61 seconds")
	b.exec(t, prune) // as of the mark with the late transaction
	if got := rows(); got != 1 || kept(early) || !kept(during) {
		t.Errorf("beside a late transaction: %d rows, early: %t, during: %t", got, kept(early), kept(during))
	}
	run(t, late, "COMMIT")
	if got := rows(); got != 2 || !kept(during) {
		t.Errorf("after it: %d rows, %t", got, kept(during))
	}
	age("20 seconds")
	b.exec(t, prune)
	age("61 seconds")
	b.exec(t, prune)
	if got := rows(); got != 0 || kept(during) || !kept(snapshot()) {
		t.Errorf("a minute later: %d rows, during: %t", got, kept(during))
	}
	b.exec(t, "DELETE FROM pinwheel.marks")
	if kept(snapshot()) {
		t.Error("without marks nothing is known to be there")
	}
	b.exec(t, prune)
	now := snapshot()
	// A dump of a server that had many more transactions.
	b.exec(t, "INSERT INTO pinwheel.marks (horizon) VALUES ('1000000000'); INSERT INTO pinwheel.changes (xid, keys) VALUES ('1000000000', '{x}')")
	b.exec(t, "DELETE FROM pinwheel.marks WHERE horizon < '1000000000'")
	if kept(now) {
		t.Error("after a restore")
	}
	b.exec(t, prune)
	if got := rows(); got != 0 || !kept(snapshot()) || kept(now) {
		t.Errorf("after a restore and prune: %d rows", got)
	}
	if _, err := b.conn.Exec(t.Context(), "SELECT pinwheel.prune('1 second')"); err == nil {
		t.Error("a second was accepted")
	}
}

// Catches: a source that forgets everything, or misses what changed, when it could not poll for a
// while; that vouches meanwhile; and that does not notice a crash, which may undo commits.
func TestChangesAfterABreak(t *testing.T) {
	s, err := pgtest.Start()
	pgtest.Started(t, s, err)
	b := databaseOf(t, s, usersSQL)
	c := b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{users}})
	w := neartest.Record(t, c, lag)
	update := func(id int) {
		sql := fmt.Sprintf("UPDATE users SET name = name || 'x' WHERE id = %d", id)
		conn, err := pgx.Connect(t.Context(), b.url)
		check(t, err)
		defer conn.Close(context.Background())
		run(t, conn, sql)
	}
	tells(t, w, "connections killed", func() {
		check(t, s.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"))
		update(1)
	}, "user:1", "user:email:1@x")
	if n := report(c); n.Polls == 0 || n.SourceErrors == 0 {
		t.Errorf("%d polls, %d failed", n.Polls, n.SourceErrors)
	}
	tells(t, w, "an orderly restart", func() {
		s.Shutdown()
		check(t, s.Restart())
		update(2)
	}, "user:2", "user:email:2@x")
	forgets(t, w, "a crash", func() {
		s.Crash()
		check(t, s.Restart())
		update(3)
	})
	tells(t, w, "after it", func() { update(4) }, "user:4", "user:email:4@x")
	forgets(t, w, "a crash of one process", func() {
		check(t, s.CrashProcess())
		update(5)
	})
	resume, err := s.Pause()
	check(t, err)
	w.Lock()
	asOf := w.AsOf
	w.Unlock()
	time.Sleep(10 * lag)
	w.Lock()
	// A poll may have been under way.
	if w.AsOf.Sub(asOf) > 2*lag {
		t.Errorf("vouched for %v while the server stood still", w.AsOf.Sub(asOf))
	}
	w.Unlock()
	check(t, resume())
	tells(t, w, "after it stood still", func() { update(6) }, "user:6", "user:email:6@x")
	if len(w.Losts) > 0 {
		t.Errorf("lost: %v", w.Losts)
	}
}

// Catches: a source that dies with a pool of one connection for all, or needs prepared statements.
func TestChangesThroughABouncer(t *testing.T) {
	b := database(t, usersSQL, postgres.SQL(users))
	bouncer, err := pgtest.StartBouncer(sharedServer(t))
	pgtest.Started(t, bouncer, err)
	through := *b
	through.url = strings.Replace(bouncer.URL(), "/postgres?", "/"+b.name+"?", 1)
	c, err := postgres.NewChanges(through.pool(t), postgres.ChangesOptions{Tables: []postgres.Table{users}})
	check(t, err)
	w := neartest.Record(t, c, lag)
	tells(t, w, "an update", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id = 1") }, "user:1", "user:email:1@x")
	tells(t, w, "a bouncer that restarts", func() {
		bouncer.Kill()
		b.exec(t, "UPDATE users SET name = 'n' WHERE id = 2")
		check(t, bouncer.Restart())
	}, "user:2", "user:email:2@x")
}

// Catches: notifications that wake up nobody.
func TestListen(t *testing.T) {
	b := database(t, usersSQL, postgres.SQL(users), postgres.WakeSQL(), postgres.WakeSQL())
	c, err := postgres.NewChanges(b.pool(t), postgres.ChangesOptions{Tables: []postgres.Table{users}, Listen: true})
	check(t, err)
	w := neartest.NewRecorder(time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.Watch(ctx, w); close(done) }()
	w.Await(t, "the first Current", func() bool { return w.Served })
	for told := false; !told; time.Sleep(10 * time.Millisecond) { // the next poll by itself is in 20 minutes
		b.exec(t, "UPDATE users SET name = 'n' WHERE id = 1")
		w.Lock()
		told = len(w.Keys) > 0
		w.Unlock()
	}
	stop()
	<-done
}

// Catches: a second watcher that costs a second poll, is served before it was told to forget, or
// ends the first.
func TestWatchersShare(t *testing.T) {
	b := database(t, usersSQL)
	c := b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{users}})
	first := neartest.Record(t, c, lag)
	ctx, stop := context.WithCancel(t.Context())
	second := neartest.NewRecorder(lag)
	done := make(chan struct{})
	go func() { c.Watch(ctx, second); close(done) }()
	second.AwaitNow(t)
	for _, w := range []*neartest.Recorder{first, second} {
		tells(t, w, "both", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id = 1") }, "user:1", "user:email:1@x")
	}
	var connections int
	check(t, b.conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pinwheel.marks%' AND pid <> pg_backend_pid()").Scan(&connections))
	if connections != 1 {
		t.Errorf("%d connections poll", connections)
	}
	stop()
	<-done
	tells(t, first, "one", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id = 2") }, "user:2", "user:email:2@x")
	if second.Faults != nil {
		t.Error(second.Faults)
	}
}

// Catches: a key that nobody tells of and that is kept, and one that is told of and is not.
func TestCovers(t *testing.T) {
	b := database(t, `CREATE TABLE pairs (a int, b int)`)
	c := b.changes(t, postgres.ChangesOptions{Tables: []postgres.Table{{Name: "pairs", Keys: []string{"pair:{a}-{b}:x", "all pairs"}}}})
	for key, want := range map[string]bool{"pair:1-2:x": true, "pair:-:x": true, "all pairs": true, "pair:1-2": false, "pair:12:x": false, "all pairs!": false, "": false, "x": false, "pair:1-2:xy": false} {
		if got := c.Covers(key); got != want {
			t.Errorf("Covers(%q) = %t", key, got)
		}
	}
	for prefix, want := range map[string]bool{"": true, "pa": true, "pair:": true, "pair:7-": true, "all": true, "all pairs:": false, "user:": false} {
		if got := c.CoversPrefix(prefix); got != want {
			t.Errorf("CoversPrefix(%q) = %t", prefix, got)
		}
	}
}

// A checker looks at each Current whether everything that was acknowledged before has been told.
type checker struct {
	*neartest.Recorder
	acked   map[string]time.Time // until it is told
	missing int
}

func (c *checker) Changed(keys ...string) {
	c.Recorder.Note(func() {
		for _, key := range keys {
			delete(c.acked, key)
		}
	})
}

func (c *checker) Current(asOf time.Time) {
	c.Recorder.Note(func() {
		for _, at := range c.acked {
			if at.Before(asOf) {
				c.missing++
			}
		}
	})
	c.Recorder.Current(asOf)
}

// A slow connection takes its time for each answer.
type slow struct{ net.Conn }

func (s slow) Read(data []byte) (int, error) {
	n, err := s.Conn.Read(data)
	time.Sleep(20 * time.Millisecond)
	return n, err
}

// Catches: a Current of the moment of the answer.
func TestPollVouchesForItsQuestion(t *testing.T) {
	b := database(t, usersSQL, postgres.SQL(users))
	config := b.pool(t).Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return slow{conn}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	check(t, err)
	defer pool.Close()
	source, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: []postgres.Table{users}})
	check(t, err)
	w := &checker{Recorder: neartest.NewRecorder(lag), acked: map[string]time.Time{}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { source.Watch(ctx, w); close(done) }()
	w.Await(t, "the first Current", func() bool { return w.Served })
	for i := range 100 {
		key := fmt.Sprint("user:", 1000+i)
		// Not told before it is acknowledged here: the watcher is held up.
		w.Note(func() {
			b.exec(t, fmt.Sprintf("INSERT INTO users VALUES (%d)", 1000+i))
			w.acked[key] = time.Now()
		})
		time.Sleep(time.Millisecond)
	}
	wrote := time.Now()
	w.Await(t, "all to be vouched for", func() bool { return w.AsOf.After(wrote) })
	stop()
	<-done
	if w.missing > 0 || len(w.acked) > 0 {
		t.Errorf("%d changes were vouched for before they were told, and %d not told", w.missing, len(w.acked))
	}
}
