package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// tells runs statements and returns the keys that are told, each once, in order.
func tells(t testing.TB, w *neartest.Recorder, pool *pgxpool.Pool, statements ...string) []string {
	t.Helper()
	before := len(w.Told().Keys)
	run(t, pool, statements...)
	w.AwaitCurrent(t, time.Now())
	keys := w.Told().Keys[before:]
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Catches: a key of the old row or the new one that is missing; text of a column that depends on who writes; a NULL that
// makes a key; rows of partitions, of COPY, of cascades, and of replication.
func TestKeysOfRows(t *testing.T) {
	pool := connect(t, database(t))
	run(t, pool, `CREATE TYPE mood AS ENUM ('sad', 'so so')`,
		`CREATE TABLE "Us ers" (id bigint PRIMARY KEY, email text, born timestamptz, day date, ratio float8, data bytea, how mood, ok bool)`,
		`CREATE SCHEMA app; CREATE TABLE app.orders (id int, user_id bigint REFERENCES "Us ers" ON DELETE CASCADE, at date) PARTITION BY RANGE (at)`,
		`CREATE TABLE app.orders_1 PARTITION OF app.orders FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')`)
	tables := []postgres.Table{
		{Name: "Us ers", Keys: []string{"user:{id}", "user:email:{email}", "user:all", "odd'\\:{born}|{day}|{ratio}|{data}|{how}|{ok}"}},
		{Name: "app.orders", Keys: []string{"order:{id}", "orders of {user_id}, ROW.x"}},
	}
	run(t, pool, postgres.SQL(tables...), postgres.SQL(tables...), postgres.NotifySQL())
	_, w := watching(t, pool, postgres.ChangesOptions{Tables: tables})
	odd := `odd'\:2026-02-03 03:05:06+00|2026-02-03|0.1|\x00ff|so so|true`
	for _, c := range []struct {
		do   string
		want []string
	}{
		{`BEGIN; SET LOCAL timezone = 'Asia/Tokyo'; SET LOCAL datestyle = 'German'; SET LOCAL bytea_output = 'escape'; SET LOCAL extra_float_digits = -15;
			INSERT INTO "Us ers" VALUES (1, 'a', '2026-02-03 04:05:06+01', '03.02.2026', 0.1, '\x00ff', 'so so', true); COMMIT`,
			[]string{odd, "user:1", "user:all", "user:email:a"}},
		{`UPDATE "Us ers" SET email = 'b' WHERE id = 1`, []string{odd, "user:1", "user:all", "user:email:a", "user:email:b"}},
		{`UPDATE "Us ers" SET id = 2, email = NULL WHERE id = 1`, []string{odd, "user:1", "user:2", "user:all", "user:email:b"}},
		{`BEGIN; UPDATE "Us ers" SET email = 'c'; ROLLBACK`, nil},
		{`INSERT INTO app.orders VALUES (7, 2, '2026-03-03')`, []string{"order:7", "orders of 2, ROW.x"}},
		{`UPDATE app.orders_1 SET id = 8`, []string{"order:7", "order:8", "orders of 2, ROW.x"}},
		{`BEGIN; SET LOCAL session_replication_role = replica; UPDATE app.orders SET id = 9; COMMIT`, []string{"order:8", "order:9", "orders of 2, ROW.x"}},
		{`DELETE FROM "Us ers"`, []string{odd, "order:9", "orders of 2, ROW.x", "user:2", "user:all"}},
		{`INSERT INTO "Us ers" SELECT i FROM generate_series(10, 12) i`, []string{"user:10", "user:11", "user:12", "user:all"}},
	} {
		if got := tells(t, w, pool, c.do); !slices.Equal(got, c.want) {
			t.Errorf("%s: told %q, want %q", c.do, got, c.want)
		}
	}
	if told := w.Told(); told.Alls != 1 {
		t.Errorf("all was told %d times", told.Alls)
	}
}

// A partial is a watcher that records which of some keys a ChangedIf means.
type partial struct {
	*neartest.Recorder
	all, meant []string
}

func (p *partial) Except(func(string) bool) {}
func (p *partial) ChangedIf(changed func(string) bool) {
	for _, key := range p.all {
		if changed(key) {
			p.meant = append(p.meant, key)
		}
	}
}

// Catches: a TRUNCATE, also of a partition, that leaves keys of the table, or takes those of others.
func TestTruncate(t *testing.T) {
	pool := connect(t, database(t))
	run(t, pool, "CREATE TABLE a (id int) PARTITION BY LIST (id); CREATE TABLE a1 PARTITION OF a FOR VALUES IN (1)", "CREATE TABLE b (id int)")
	tables := []postgres.Table{{Name: "a", Keys: []string{"a:{id}", "x:{id}"}}, {Name: "b", Keys: []string{"b:{id}"}}}
	run(t, pool, postgres.SQL(tables...))
	c, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables})
	check(t, err)
	p := &partial{Recorder: neartest.NewRecorder(t, lag), all: []string{"a:1", "b:1", "x:2"}}
	stop := neartest.Watch(c, p)
	p.Await(t, "service", func(told neartest.Told) bool { return told.Serving })
	for _, table := range []string{"a", "a1"} {
		run(t, pool, "TRUNCATE "+table)
		p.AwaitCurrent(t, time.Now())
	}
	stop()
	if want := []string{"a:1", "x:2", "a:1", "x:2"}; !slices.Equal(p.meant, want) {
		t.Errorf("TRUNCATE means %q, want %q", p.meant, want)
	}
}

// Catches: a source that begins though something is missing; an error that does not say what to run.
func TestMissing(t *testing.T) {
	at := database(t)
	pool := connect(t, at)
	run(t, pool, "CREATE TABLE users (id int)", "CREATE VIEW shown AS SELECT * FROM users", "DO $$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
	users := postgres.Table{Name: "users", Keys: []string{"user:{id}"}}
	refuses := func(what, says string, pool *pgxpool.Pool, tables ...postgres.Table) {
		t.Helper()
		if _, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", what, err, says)
		} else if strings.Contains(says, "postgres.SQL") != errors.Is(err, postgres.ErrNotInstalled) {
			t.Errorf("%s: %v is not what it is", what, err)
		}
	}
	refuses("no migration", "run the migration of postgres.SQL", pool, users)
	for says, table := range map[string]postgres.Table{
		"no table \"nobody\"":         {Name: "nobody", Keys: []string{"a"}},
		"no column nobody: want some": {Name: "users", Keys: []string{"a{nobody}"}},
		`"shown" is no table`:         {Name: "shown", Keys: []string{"a{id}"}},
	} {
		if _, err := pool.Exec(t.Context(), postgres.SQL(table)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	refuses("a migration that has failed", "run the migration of postgres.SQL", pool, users)
	run(t, pool, postgres.SQL(users))
	refuses("another table", "no table \"nobody\"", pool, postgres.Table{Name: "nobody", Keys: []string{"a"}})
	refuses("other keys", "run the migration of postgres.SQL for the table \"users\": its triggers write the keys [\"user:{id}\"]", pool, postgres.Table{Name: "users", Keys: []string{"u:{id}"}})
	app := connect(t, strings.Replace(at, "postgres@", "app@", 1))
	refuses("no rights", "GRANT USAGE ON SCHEMA pinwheel", app, users)
	run(t, pool, "GRANT USAGE ON SCHEMA pinwheel TO app")
	c, err := postgres.NewChanges(app, postgres.ChangesOptions{Tables: []postgres.Table{users}})
	check(t, err)
	w := neartest.Record(t, c, lag)
	run(t, pool, "GRANT INSERT ON users TO app")
	if got := tells(t, w, app, "INSERT INTO users VALUES (1)"); !slices.Equal(got, []string{"user:1"}) {
		t.Errorf("a writer with least rights: told %q", got)
	}
	leads := func() error { // as a relay does
		return c.Lead(t.Context(), func(ctx context.Context, read relay.Read) error { _, err := read(ctx, ""); return err })
	}
	check(t, leads())
	for _, how := range []string{"DISABLE TRIGGER pinwheel_changed", "ENABLE TRIGGER pinwheel_changed"} { // the latter not for replicated rows
		run(t, pool, "ALTER TABLE users "+how)
		refuses(how, "run the migration of postgres.SQL", pool, users)
		if err := leads(); !errors.Is(err, postgres.ErrNotInstalled) {
			t.Errorf("%s, and a relay leads: %v", how, err)
		}
	}
	run(t, pool, postgres.SQL(users))
	for _, setting := range []string{"default_transaction_read_only=on", "default_transaction_isolation=serializable"} {
		refuses(setting, "want ALTER ROLE", connect(t, at+"&"+setting), users)
	}
	run(t, pool, postgres.DropSQL(users))
	refuses("a dropped trigger", "run the migration of postgres.SQL", pool, users)
	run(t, pool, "INSERT INTO users VALUES (2)", postgres.DropSQL(), postgres.DropSQL())
	refuses("all dropped", "run the migration of postgres.SQL", pool, users)
	run(t, pool, "INSERT INTO users VALUES (3)")
	small, err := pgxpool.New(t.Context(), at+"&pool_max_conns=1")
	check(t, err)
	defer small.Close()
	refuses("a small pool", "MaxConns of the pool is 1", small, users)
}

// Catches: a role with few rights that becomes the owner of the functions: types in them are looked for in pg_temp first,
// unless it is named.
func TestOwnerIsNotTaken(t *testing.T) {
	at := database(t)
	pool := connect(t, at)
	run(t, pool, "CREATE TABLE rows (k text)", postgres.SQL(rows...), "DO $$ BEGIN CREATE ROLE evil LOGIN; EXCEPTION WHEN duplicate_object THEN END $$",
		"GRANT INSERT ON rows TO evil", "GRANT USAGE ON SCHEMA pinwheel TO evil")
	for _, call := range []string{"INSERT INTO rows VALUES ('a')", "SELECT pinwheel.poll(NULL, 1)", "SELECT pinwheel.begin()", "SELECT pinwheel.trim('0')"} {
		evil, err := pgx.Connect(t.Context(), strings.Replace(at, "postgres@", "evil@", 1))
		check(t, err)
		for _, name := range []string{"text", "uuid", "int8", "xid8", "pg_snapshot", "name"} {
			_, err = evil.Exec(t.Context(), fmt.Sprintf("CREATE FUNCTION pg_temp.take(pg_catalog.%[1]s) RETURNS bool LANGUAGE plpgsql AS "+
				"$$ BEGIN EXECUTE 'ALTER ROLE evil SUPERUSER'; RETURN true; END $$; CREATE DOMAIN pg_temp.%[1]s AS pg_catalog.%[1]s CHECK (pg_temp.take(value))", name))
			check(t, err)
		}
		_, _ = evil.Exec(t.Context(), call)
		check(t, evil.Close(t.Context()))
		var taken bool
		check(t, pool.QueryRow(t.Context(), "SELECT rolsuper FROM pg_roles WHERE rolname = 'evil'").Scan(&taken))
		if taken {
			t.Fatalf("%s makes a superuser", call)
		}
	}
}

// Catches: tables whose functions take the names of others; keys that end a literal.
func TestNames(t *testing.T) {
	pool := connect(t, database(t))
	run(t, pool, "CREATE SCHEMA a; CREATE TABLE a.t (x int); CREATE SCHEMA b; CREATE TABLE b.t (y int)", `CREATE TABLE wake (id int); CREATE TABLE "begin" (id int)`,
		`CREATE TABLE "`+strings.Repeat("long", 15)+`" (id int)`)
	tables := []postgres.Table{
		{Name: "a.t", Keys: []string{"a{x}"}}, {Name: "b.t", Keys: []string{"b{y}"}}, {Name: "wake", Keys: []string{"w$trigger$%s{id}"}},
		{Name: "begin", Keys: []string{"$f$ $install$ $$'\\{id}"}}, {Name: strings.Repeat("long", 15), Keys: []string{"l{id}"}},
	}
	run(t, pool, postgres.SQL(tables...), postgres.NotifySQL(), postgres.SQL(tables...))
	_, w := watching(t, pool, postgres.ChangesOptions{Tables: tables})
	for table, want := range map[string]string{"a.t": "a1", "b.t": "b1", "wake": "w$trigger$%s1", `"begin"`: `$f$ $install$ $$'\1`, strings.Repeat("long", 15): "l1"} {
		if got := tells(t, w, pool, "INSERT INTO "+table+" VALUES (1)"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: told %q, want %q", table, got, want)
		}
	}
	run(t, pool, postgres.DropSQL(tables[:4]...), `INSERT INTO "begin" VALUES (2)`, "SELECT pinwheel.begin()")
}

// Catches: a migration with a new key that does not wait for who writes with the old keys; instances that do not notice it,
// or whose keys are still there and that stop; one that stops writers without need.
func TestMigrationWhileInUse(t *testing.T) {
	pool := connect(t, database(t))
	old := postgres.Table{Name: "users", Keys: []string{"user:{id}"}}
	both := postgres.Table{Name: "users", Keys: []string{"user:{id}", "mail:{email}"}}
	run(t, pool, "CREATE TABLE users (id int, email text)", postgres.SQL(old))
	_, w := watching(t, pool, postgres.ChangesOptions{Tables: []postgres.Table{old}})
	writer, err := pool.Acquire(t.Context())
	check(t, err)
	defer writer.Release()
	write := func(statement string) {
		t.Helper()
		_, err := writer.Exec(t.Context(), statement)
		check(t, err)
	}
	write("INSERT INTO users VALUES (1, 'a')")
	write("BEGIN; UPDATE users SET email = 'b'")
	run(t, pool, postgres.SQL(old)) // has nothing to wait for
	migrated := make(chan error, 1)
	alls := w.Told().Alls
	go func() {
		_, err := pool.Exec(context.Background(), postgres.SQL(both))
		migrated <- err
	}()
	for waiting := false; !waiting; {
		check(t, pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))").Scan(&waiting))
		if len(migrated) > 0 {
			t.Fatal("it has not waited for who writes")
		}
	}
	write("COMMIT")
	check(t, <-migrated)
	w.Await(t, "all", func(told neartest.Told) bool { return told.Alls > alls && told.Serving })
	if got := tells(t, w, pool, "UPDATE users SET email = 'c'"); !slices.Equal(got, []string{"user:1"}) {
		t.Errorf("told %q", got)
	}
	run(t, pool, postgres.SQL(postgres.Table{Name: "users", Keys: []string{"mail:{email}"}}))
	w.AwaitLost(t, "run the migration of postgres.SQL")
}

// Catches: a database that was put back to what it was, with the table that shows it; a publication of all tables, of which
// deletions are refused.
func TestRestored(t *testing.T) {
	pool := connect(t, database(t))
	run(t, pool, "CREATE PUBLICATION everything FOR ALL TABLES", "CREATE TABLE rows (k text)", postgres.SQL(rows...))
	_, w := watching(t, pool, postgres.ChangesOptions{Tables: rows})
	alls := w.Told().Alls
	run(t, pool, "CREATE TABLE life AS SELECT * FROM pinwheel.life; CREATE TABLE marks AS SELECT * FROM pinwheel.marks",
		"BEGIN; DROP SCHEMA pinwheel CASCADE; "+postgres.SQL(rows...)+"UPDATE pinwheel.life SET token = (SELECT token FROM life); "+
			"DELETE FROM pinwheel.marks; INSERT INTO pinwheel.marks SELECT * FROM marks; COMMIT")
	w.Await(t, "all", func(told neartest.Told) bool { return told.Alls > alls && told.Serving })
	alls = w.Told().Alls
	run(t, pool, "UPDATE pinwheel.life SET system = 7", "UPDATE pinwheel.marks SET low = '999999999'") // of another server
	w.Await(t, "all", func(told neartest.Told) bool { return told.Alls > alls && told.Serving })
	w.AwaitCurrent(t, time.Now())
	alls = w.Told().Alls
	if got := tells(t, w, pool, "INSERT INTO rows VALUES ('a')", "SELECT pinwheel.trim('0')"); !slices.Equal(got, []string{"row:a"}) || w.Told().Alls > alls {
		t.Errorf("told %q, and all %d times more", got, w.Told().Alls-alls)
	}
}

// Catches: notifications that are asked for and do not come; polls that wait for their interval all the same.
func TestListen(t *testing.T) {
	at := database(t)
	pool := connect(t, at)
	run(t, pool, "CREATE TABLE rows (k text)", postgres.SQL(rows...))
	o := postgres.ChangesOptions{Tables: rows, Listen: pool.Config().ConnConfig}
	if _, err := postgres.NewChanges(pool, o); err == nil || !strings.Contains(err.Error(), "NotifySQL") {
		t.Errorf("nobody notifies: %v", err)
	}
	run(t, pool, postgres.NotifySQL())
	c, err := postgres.NewChanges(pool, o)
	check(t, err)
	w := neartest.Record(t, c, 10*time.Hour) // it polls each two and a half hours
	run(t, pool, "INSERT INTO rows VALUES ('a')")
	w.Await(t, "the change", func(told neartest.Told) bool { return slices.Contains(told.Keys, "row:a") })
	run(t, pool, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN pinwheel' AND datname = current_database()")
	for i := 0; !slices.Contains(w.Told().Keys, fmt.Sprint("row:", i-1)); i++ { // until it listens again
		run(t, pool, fmt.Sprintf("INSERT INTO rows VALUES ('%d')", i))
		time.Sleep(10 * time.Millisecond)
	}
}

// Catches: a loop that lives on when nobody watches, or ends while somebody does; a watcher who comes later and is told
// nothing, or too early.
func TestWatchersComeAndGo(t *testing.T) {
	pool := connect(t, database(t))
	run(t, pool, "CREATE TABLE rows (k text)", postgres.SQL(rows...))
	c, first := watching(t, pool, postgres.ChangesOptions{Tables: rows})
	for range 3 {
		second := neartest.NewRecorder(t, lag)
		stop := neartest.Watch(c, second)
		second.Await(t, "service", func(told neartest.Told) bool { return told.Serving && told.Alls == 1 })
		for _, w := range []*neartest.Recorder{first, second} {
			if got := tells(t, w, pool, "INSERT INTO rows VALUES ('a')"); !slices.Equal(got, []string{"row:a"}) {
				t.Errorf("told %q", got)
			}
		}
		stop()
		seen := second.Told()
		run(t, pool, "INSERT INTO rows VALUES ('b')")
		first.AwaitCurrent(t, time.Now())
		if told := second.Told(); !told.AsOf.Equal(seen.AsOf) || len(told.Keys) != len(seen.Keys) {
			t.Errorf("who has left is told %+v", told)
		}
	}
	if c.Covers("rows") || !c.Covers("row:1") || c.Covers("row:~v2~1") || !c.Covers("row:~~question") {
		t.Error("it covers what it does not tell of, or the reverse")
	}
}

// Catches: changes that are removed before they were told, and an absent watcher that does not know it; a bulk change that
// is told one by one.
func TestTrim(t *testing.T) {
	pool := connect(t, database(t))
	run(t, pool, "CREATE TABLE rows (k text)", postgres.SQL(rows...))
	_, w := watching(t, pool, postgres.ChangesOptions{Tables: rows})
	alls := w.Told().Alls
	run(t, pool, "INSERT INTO rows VALUES ('a')")
	w.AwaitCurrent(t, time.Now())
	trim := func() {
		run(t, pool, "SELECT pinwheel.trim('0')")
		w.AwaitCurrent(t, time.Now()) // who has polled since needs nothing that the next one removes
	}
	trim()
	run(t, pool, "INSERT INTO rows VALUES ('b')")
	trim()
	trim()
	var left int
	check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM pinwheel.changes").Scan(&left))
	if told := w.Told(); left != 0 || !slices.Contains(told.Keys, "row:b") || told.Alls > alls {
		t.Errorf("%d rows are left; told %+v", left, told)
	}
	alls = w.Told().Alls
	run(t, pool, "INSERT INTO rows SELECT i FROM generate_series(1, 20001) i")
	w.AwaitCurrent(t, time.Now())
	if told := w.Told(); told.Alls != alls+1 || slices.Contains(told.Keys, "row:7") {
		t.Errorf("a bulk change: all %d times", told.Alls-alls)
	}
	tx, err := pool.Begin(t.Context()) // open for long
	check(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO rows VALUES ('late')")
	check(t, err)
	trim()
	trim()
	check(t, tx.Commit(t.Context()))
	w.AwaitCurrent(t, time.Now())
	if told := w.Told(); told.Alls != alls+1 || !slices.Contains(told.Keys, "row:late") {
		t.Errorf("a late commit is not told, all %d times", told.Alls-alls)
	}
}

// Catches: a crash, a restart or a failover after which a source goes on as if nothing had been lost; a standby that is
// believed; a load from a standby that shows less than was told.
func TestFailover(t *testing.T) {
	primary, err := postgrestest.Start()
	primary = postgrestest.Started(t, primary, err)
	setUp := connect(t, primary.URL)
	run(t, setUp, "CREATE TABLE rows (k text, v int)", postgres.SQL(rows...))
	s, err := primary.Standby()
	standby := postgrestest.Started(t, s, err)
	p, err := neartest.NewProxy(hostOf(t, primary.URL))
	check(t, err)
	defer p.Close()
	pool := connect(t, through(t, primary.URL, p.Addr))
	c, w := watching(t, pool, postgres.ChangesOptions{Tables: rows})
	replica := connect(t, standby.URL)
	run(t, replica, "SELECT pg_wal_replay_pause()")
	run(t, setUp, "INSERT INTO rows VALUES ('a', 1)")
	w.Await(t, "the change", func(told neartest.Told) bool { return slices.Contains(told.Keys, "row:a") })
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // real time: it is to end too early
	defer cancel()
	if err := c.AwaitReplay(short, replica); err == nil {
		t.Error("a standby that does not replay shows what was told")
	}
	time.AfterFunc(10*time.Millisecond, func() { run(t, replica, "SELECT pg_wal_replay_resume()") })
	check(t, c.AwaitReplay(t.Context(), replica))
	var rows int
	check(t, replica.QueryRow(t.Context(), "SELECT count(*) FROM rows").Scan(&rows))
	if rows != 1 {
		t.Errorf("the standby shows %d rows", rows)
	}
	check(t, c.AwaitReplay(t.Context(), setUp))

	forgets := func(what string, do func()) {
		t.Helper()
		alls := w.Told().Alls
		do()
		w.Await(t, "all, after "+what, func(told neartest.Told) bool { return told.Alls > alls && told.Serving })
		w.AwaitCurrent(t, time.Now())
	}
	for what, end := range map[string]func(){"a restart": primary.Shutdown, "a crash": primary.Kill} {
		forgets(what, func() {
			end()
			check(t, primary.Restart())
		})
	}
	forgets("a crash of a process, after which it goes on with the same start", func() { check(t, primary.CrashProcess()) })
	losts := len(w.Told().Losts)
	p.Turn(hostOf(t, standby.URL), false)
	primary.Kill()
	w.Await(t, "the standby that is none to ask", func(told neartest.Told) bool {
		return len(told.Losts) > losts && strings.Contains(told.Losts[len(told.Losts)-1].Error(), "standby")
	})
	forgets("a failover", func() { run(t, replica, "SELECT pg_promote()") })
	run(t, replica, "INSERT INTO rows VALUES ('b')")
	w.Await(t, "the change", func(told neartest.Told) bool { return slices.Contains(told.Keys, "row:b") })
}

// Catches: two that lead at once; one that leads no more as nothing was read for long; one that leads on without its
// lock; other keys that wait for the same lock; a position from which changes are lost; one that waits for ever for a
// server that is gone without a word.
func TestLead(t *testing.T) {
	t.Parallel() // it mostly waits
	url := database(t)
	pool := connect(t, url)
	run(t, pool, "CREATE TABLE rows (k text)", postgres.SQL(rows...))
	c, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: rows})
	check(t, err)
	other, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: rows, Relay: "other"})
	check(t, err)
	second, ended := make(chan error, 1), make(chan struct{})
	var b relay.Batch
	err = c.Lead(t.Context(), func(ctx context.Context, read relay.Read) error {
		if b, err = read(ctx, ""); !slices.Equal(b.Prefixes, []string{"row:"}) {
			t.Errorf("at first: %+v, %v", b, err)
		}
		go func() {
			second <- c.Lead(t.Context(), func(ctx context.Context, read relay.Read) error {
				select {
				case <-ended:
				default:
					t.Error("two lead")
				}
				b, err := read(ctx, b.Position)
				if !slices.Equal(b.Keys, []string{"row:~a"}) || len(b.Prefixes) > 0 {
					t.Errorf("the next leader has read %+v, %v", b, err)
				}
				return err
			})
		}()
		check(t, other.Lead(t.Context(), func(context.Context, relay.Read) error { return nil }))
		time.Sleep(6 * time.Second) // over five, after which a leader that has stopped is none
		b, err := read(ctx, b.Position)
		if len(b.Keys)+len(b.Prefixes) > 0 || err != nil {
			t.Errorf("nothing has changed: %+v, %v", b, err)
		}
		run(t, pool, "INSERT INTO rows VALUES ('~a')", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()")
		close(ended)
		_, err = read(ctx, b.Position)
		return err
	})
	if err == nil {
		t.Error("it has led on without its lock")
	}
	check(t, <-second)

	p, err := neartest.NewProxy(hostOf(t, url))
	check(t, err)
	defer p.Close()
	c, err = postgres.NewChanges(connect(t, through(t, url, p.Addr)), postgres.ChangesOptions{Tables: rows})
	check(t, err)
	defer p.Begin(neartest.Stall, neartest.BothWays)()
	if err := c.Lead(t.Context(), func(context.Context, relay.Read) error { return nil }); err == nil {
		t.Error("it leads on a server that does not answer")
	}
}
