package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
)

// TestPollModel has transactions begin, write, go back to savepoints, be prepared, commit and roll back in any order, and
// polls between them.
//
// Catches: a change that a poll after its commit does not tell, whichever transactions are open; one that is told
// twice, or before it can be read.
func TestPollModel(t *testing.T) {
	server, err := postgrestest.Start("max_prepared_transactions=10")
	server = postgrestest.Started(t, server, err)
	ctx := context.Background()
	open := func() *pgx.Conn {
		conn, err := pgx.Connect(ctx, server.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(ctx) })
		return conn
	}
	reader, table := open(), Table{Name: "t", Keys: []string{"t:{id}"}}
	conns := make([]*pgx.Conn, 3)
	for i := range conns {
		conns[i] = open()
	}
	run := func(t *rapid.T, conn *pgx.Conn, format string, args ...any) {
		if _, err := conn.Exec(ctx, fmt.Sprintf(format, args...)); err != nil {
			t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
		}
	}
	if _, err := reader.Exec(ctx, "CREATE TABLE t (id int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Exec(ctx, SQL(table)); err != nil {
		t.Fatal(err)
	}
	rows := 0
	rapid.Check(t, func(t *rapid.T) {
		b, err := poll(ctx, reader, position{})
		if err != nil {
			t.Fatal(err)
		}
		at := b.at
		var committed []string
		written, saved := make([][]string, len(conns)), make([][]string, len(conns)) // saved: nil, or since the savepoint
		isOpen, prepared := make([]bool, len(conns)), make([]bool, len(conns))
		end := func(t *rapid.T, i int, commit bool) {
			how := map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit]
			if prepared[i] {
				run(t, conns[i], "%s PREPARED 'p%d'", how, i)
			} else {
				run(t, conns[i], "%s", how)
			}
			if commit {
				committed = append(committed, append(written[i], saved[i]...)...)
			}
			written[i], saved[i], isOpen[i], prepared[i] = nil, nil, false, false
		}
		defer func() {
			for i := range conns {
				if isOpen[i] {
					end(t, i, false)
				}
			}
		}()
		look := func(t *rapid.T) {
			b, err := poll(ctx, reader, at)
			if err != nil || b.all || len(b.prefixes) > 0 {
				t.Fatalf("%+v, %v", b, err)
			}
			at = b.at
			slices.Sort(b.keys) // the server's collation may be another
			slices.Sort(committed)
			if !slices.Equal(b.keys, committed) {
				t.Fatalf("told %q, want %q", b.keys, committed)
			}
			committed = nil
		}
		actions := map[string]func(*rapid.T){"poll": look}
		for i, conn := range conns {
			when := func(is func() bool, do func(*rapid.T)) func(*rapid.T) {
				return func(t *rapid.T) {
					if !is() {
						t.Skip()
					}
					do(t)
				}
			}
			works := func() bool { return isOpen[i] && !prepared[i] }
			actions[fmt.Sprint("begin ", i)] = when(func() bool { return !isOpen[i] }, func(t *rapid.T) {
				run(t, conn, "BEGIN")
				isOpen[i] = true
			})
			actions[fmt.Sprint("write ", i)] = when(works, func(t *rapid.T) {
				rows++
				run(t, conn, "INSERT INTO t VALUES (%d)", rows)
				key := fmt.Sprintf("t:%d", rows)
				if saved[i] != nil {
					saved[i] = append(saved[i], key)
				} else {
					written[i] = append(written[i], key)
				}
			})
			actions[fmt.Sprint("savepoint ", i)] = when(func() bool { return works() && saved[i] == nil }, func(t *rapid.T) {
				run(t, conn, "SAVEPOINT s")
				saved[i] = []string{}
			})
			actions[fmt.Sprint("back ", i)] = when(func() bool { return works() && saved[i] != nil }, func(t *rapid.T) {
				run(t, conn, "ROLLBACK TO SAVEPOINT s")
				saved[i] = []string{}
			})
			actions[fmt.Sprint("prepare ", i)] = when(works, func(t *rapid.T) {
				run(t, conn, "PREPARE TRANSACTION 'p%d'", i)
				prepared[i] = true
			})
			actions[fmt.Sprint("commit ", i)] = when(func() bool { return isOpen[i] }, func(t *rapid.T) { end(t, i, true) })
			actions[fmt.Sprint("roll back ", i)] = when(func() bool { return isOpen[i] }, func(t *rapid.T) { end(t, i, false) })
		}
		t.Repeat(actions)
		look(t)
	})
}

// Catches: a poll that began before somebody watched, and vouches to him for what he was not told.
func TestPollBeforeJoining(t *testing.T) {
	c, w := &Changes{}, neartest.NewRecorder(t, time.Second)
	joined := time.Now()
	c.seats = []*seat{{Watcher: w, maxLag: time.Second, joined: joined}}
	c.tell(joined.Add(-1), batch{keys: []string{"a"}}, nil)
	if told := w.Told(); told.Alls > 0 || len(told.Keys) > 0 || told.Serving {
		t.Errorf("told %+v", told)
	}
	if c.tell(joined, batch{}, nil); !w.Told().Serving {
		t.Error("not told")
	}
}
