package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
)

// log makes the publication, and returns a source.
func (b *base) log(t testing.TB, o postgres.LogOptions) *postgres.Log {
	t.Helper()
	b.exec(t, postgres.LogSQL(o))
	l, err := postgres.NewLog(b.url, o)
	check(t, err)
	return l
}

// Catches: a kind of change that is not told, the old or the new key of a row, a key that is told
// of a row that did not change or of a transaction that was undone.
func TestLogTells(t *testing.T) {
	b := database(t, usersSQL)
	testTells(t, b, neartest.Record(t, b.log(t, postgres.LogOptions{Tables: []postgres.Table{users}}), lag))
}

// Catches: a text of a column that is another one in the log than in the table of changes.
func TestLogColumnsOfAllTypes(t *testing.T) {
	b, table := typesTable(t)
	testTypes(t, b, neartest.Record(t, b.log(t, postgres.LogOptions{Tables: []postgres.Table{table}}), lag))
}

// Catches: a column of a key that is stored apart from its row, and lost when it does not change.
func TestLogOfStoredApart(t *testing.T) {
	for _, identity := range []string{"FULL", "USING INDEX docs_path"} {
		b := database(t, `CREATE TABLE docs (id int PRIMARY KEY, path text NOT NULL UNIQUE, n int);
			ALTER TABLE docs ALTER path SET STORAGE EXTERNAL, ALTER path SET NOT NULL;
			ALTER INDEX docs_path_key RENAME TO docs_path;
			ALTER TABLE docs REPLICA IDENTITY `+identity)
		path := strings.Repeat("x", 2500)
		b.exec(t, "INSERT INTO docs VALUES (1, '"+path+"', 0)")
		l := b.log(t, postgres.LogOptions{Tables: []postgres.Table{{Name: "docs", Keys: []string{"doc:{path}"}}}})
		w := neartest.Record(t, l, lag)
		tells(t, w, identity, func() { b.exec(t, "UPDATE docs SET n = n + 1") }, "doc:"+path)
	}
}

// Catches: a partition whose rows or TRUNCATE are not told, or that is made or dropped unnoticed.
func TestLogPartitions(t *testing.T) {
	b := database(t, `CREATE TABLE events (id int, day int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
		CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (1) TO (10);
		CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (10) TO (20)`)
	o := postgres.LogOptions{Tables: []postgres.Table{{Name: "events", Keys: []string{"event:{id}:{day}"}}}}
	w := neartest.Record(t, b.log(t, o), lag)
	tells(t, w, "insert", func() { b.exec(t, "INSERT INTO events VALUES (1, 1), (2, 12)") }, "event:1:1", "event:2:12")
	tells(t, w, "to another partition", func() { b.exec(t, "UPDATE events SET day = 2 WHERE id = 2") }, "event:2:12", "event:2:2")
	forgets(t, w, "TRUNCATE of a partition", func() { b.exec(t, "TRUNCATE events_1") })
	forgets(t, w, "a new partition", func() { b.exec(t, "CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (20) TO (30)") })
	tells(t, w, "in it", func() { b.exec(t, "INSERT INTO events_3 VALUES (4, 23)") }, "event:4:23")
	forgets(t, w, "TRUNCATE of all", func() { b.exec(t, "TRUNCATE events") })
	forgets(t, w, "a partition less", func() { b.exec(t, "DROP TABLE events_2") })
}

// Catches: a column that is found at its old place after a table was altered.
func TestLogOfAlteredTable(t *testing.T) {
	b := database(t, usersSQL)
	w := neartest.Record(t, b.log(t, postgres.LogOptions{Tables: []postgres.Table{users}}), lag)
	b.exec(t, "ALTER TABLE users DROP COLUMN name, ADD COLUMN age int; UPDATE users SET age = 1 WHERE id = 1")
	w.AwaitNow(t)
	tells(t, w, "after it", func() {
		b.exec(t, "UPDATE users SET age = 2 WHERE id = 2")
	}, "user:2", "user:email:2@x")
}

// Catches: a transaction whose keys fill the memory.
func TestLogMaxKeys(t *testing.T) {
	b := database(t, usersSQL)
	w := neartest.Record(t, b.log(t, postgres.LogOptions{Tables: []postgres.Table{users}, MaxKeys: 20}), lag)
	tells(t, w, "few", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id <= 2") }, "user:1", "user:2", "user:email:1@x", "user:email:2@x")
	forgets(t, w, "more", func() { b.exec(t, "INSERT INTO users SELECT n, n, n FROM generate_series(101, 1111) n") })
	tells(t, w, "few again", func() { b.exec(t, "UPDATE users SET name = 'n' WHERE id = 1") }, "user:1", "user:email:1@x")
}

// Catches: a change that is told while it cannot be read, as its commit waits for a standby; a
// source that vouches for nothing meanwhile; and one that cannot be made meanwhile.
func TestLogWaitsForTheGate(t *testing.T) {
	const patient = 4 * time.Second // while the transaction is open no stream can begin again
	s, err := pgtest.Start("wal_level=logical")
	pgtest.Started(t, s, err)
	b := databaseOf(t, s, usersSQL)
	o := postgres.LogOptions{Tables: []postgres.Table{users}}
	b.exec(t, postgres.LogSQL(o))
	l, err := postgres.NewLog(b.url, o)
	check(t, err)
	w := neartest.Record(t, l, patient)
	check(t, s.Exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'"))
	check(t, s.Exec("SELECT pg_reload_conf()"))
	writer, done := b.connect(t), make(chan error, 1)
	go func() {
		_, err := writer.Exec(t.Context(), "UPDATE users SET name = 'new' WHERE id = 1")
		done <- err
	}()
	for waits := false; !waits; {
		check(t, b.conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')").Scan(&waits))
	}
	tells(t, w, "committed, and not to be read", func() {})
	second := neartest.Record(t, l, patient)
	if _, err := postgres.NewLog(b.url, o); err != nil {
		t.Errorf("while a transaction is open: %v", err)
	}
	check(t, s.Exec("ALTER SYSTEM RESET synchronous_standby_names"))
	check(t, s.Exec("SELECT pg_reload_conf()"))
	check(t, <-done)
	w.AwaitKey(t, "user:1")
	second.AwaitKey(t, "user:1")
}

// Catches: a server that has nothing to tell, is never asked, and so is taken for dead.
func TestLogAsksAnIdleServer(t *testing.T) {
	b := database(t, usersSQL)
	w := neartest.Record(t, b.log(t, postgres.LogOptions{Tables: []postgres.Table{users}}), lag)
	replied := func() (n float64) {
		check(t, b.conn.QueryRow(t.Context(), "SELECT coalesce(extract(epoch FROM max(r.reply_time)), 0)::float8 FROM pg_stat_replication r JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database()").Scan(&n))
		return n
	}
	neartest.InTime(t, "replies", func() {
		for range 3 {
			for before := replied(); replied() == before; {
				w.AwaitNow(t)
			}
		}
	})
}

// Catches: changes during a break that stay untold.
func TestLogAfterABreak(t *testing.T) {
	b := database(t, usersSQL)
	l := b.log(t, postgres.LogOptions{Tables: []postgres.Table{users}})
	w := neartest.Record(t, l, lag)
	for name, kill := range map[string]string{
		"stream":    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender' AND datname = current_database()",
		"questions": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = current_database()",
		"altered":   "ALTER PUBLICATION pinwheel DROP TABLE users; ALTER PUBLICATION pinwheel ADD TABLE users",
	} {
		w.Lock()
		losts := len(w.Losts)
		w.Unlock()
		w.AwaitAgain(t, name, func() { b.exec(t, kill) })
		w.Await(t, name, func() bool { return len(w.Losts) > losts })
	}
	if n := report(l); n.SourceErrors < 3 || n.Polls == 0 || n.RoundTrip <= 0 || n.RoundTrip > time.Minute {
		t.Errorf("%+v", n)
	}
	tells(t, w, "after all", func() { b.exec(t, "UPDATE users SET name = 'z' WHERE id = 1") }, "user:1", "user:email:1@x")
}

// Catches: an early start that would not hear everything, and an error that does not say what to
// run.
func TestLogRefused(t *testing.T) {
	b := database(t, "CREATE TABLE users (id bigint PRIMARY KEY, email text, name text)", "CREATE ROLE log_refused LOGIN")
	t.Cleanup(func() { b.finally(t, "DROP ROLE log_refused") })
	refused := func(want string, o postgres.LogOptions, replacements ...string) {
		t.Helper()
		if o.Tables == nil {
			o.Tables = []postgres.Table{users}
		}
		if _, err := postgres.NewLog(strings.NewReplacer(replacements...).Replace(b.url), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused(`no publication "pinwheel": want an administrator to run what postgres.LogSQL returns`, postgres.LogOptions{})
	refused(`no publication "it's"`, postgres.LogOptions{Publication: "it's"})
	refused(`ALTER ROLE "log_refused" REPLICATION`, postgres.LogOptions{}, "postgres@", "log_refused@")
	refused("MaxKeys is -1", postgres.LogOptions{MaxKeys: -1})
	b.exec(t, "CREATE PUBLICATION pinwheel")
	refused("table public.users is not in publication", postgres.LogOptions{})
	b.exec(t, "ALTER PUBLICATION pinwheel ADD TABLE users")
	refused("the log does not have email of an old row of table users: want an administrator to run ALTER TABLE users REPLICA IDENTITY FULL", postgres.LogOptions{})
	b.exec(t, postgres.LogSQL(postgres.LogOptions{Tables: []postgres.Table{users}}))
	refused("there is no table public.nobody", postgres.LogOptions{Tables: []postgres.Table{{Name: "nobody", Keys: []string{"{id}"}}}})
	refused("has no column none", postgres.LogOptions{Tables: []postgres.Table{{Name: "users", Keys: []string{"{none}"}}}})
	b.exec(t, "ALTER PUBLICATION pinwheel SET (publish = 'insert', publish_via_partition_root = true)")
	refused("SET (publish = 'insert, update, delete, truncate')", postgres.LogOptions{})
	refused("SET (publish_via_partition_root = false)", postgres.LogOptions{})
	b.exec(t, "ALTER PUBLICATION pinwheel SET (publish = 'insert, update, delete, truncate', publish_via_partition_root = false); ALTER PUBLICATION pinwheel SET TABLE users (id, email) WHERE (id > 5)")
	refused("has only some rows or columns of table public.users", postgres.LogOptions{})

	s, err := pgtest.Start("wal_level=replica")
	pgtest.Started(t, s, err)
	if _, err := postgres.NewLog(s.URL(), postgres.LogOptions{Tables: []postgres.Table{users}}); err == nil || !strings.Contains(err.Error(), "ALTER SYSTEM SET wal_level = logical") {
		t.Error(err)
	}
}
