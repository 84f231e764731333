package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
)

// TestMarks checks that an instance knows a moment after the mark of another one, though not from before it was made,
// also while a transaction stays open; and that a read since a mark is of the row that was
// written before it.
func TestMarks(t *testing.T) {
	b := database(t, "CREATE TABLE users (id int PRIMARY KEY, name text)", "INSERT INTO users VALUES (1, '0')")
	o := postgres.ChangesOptions{Tables: []postgres.Table{{Name: "users", Keys: []string{"user:{id}"}}}}
	writer := b.changes(t, o)
	reader, err := postgres.NewChanges(b.pool(t), o)
	check(t, err)
	w := neartest.Record(t, reader, lag)
	open := b.connect(t)
	run(t, open, "BEGIN")
	run(t, open, "SELECT pg_current_xact_id()")

	made := time.Now()
	mark, err := writer.Mark(t.Context())
	check(t, err)
	if moment, ok := reader.Moment(mark); ok && moment.Before(made) {
		t.Errorf("known %v before it was made", made.Sub(moment))
	}
	w.AwaitNow(t)
	w.AwaitNow(t)
	if moment, ok := reader.Moment(mark); !ok || moment.Before(made) {
		t.Errorf("after a poll: %v, %v", moment, ok)
	}
	if len(mark) > 50 || strings.ContainsAny(string(mark), " ,;\"\\") {
		t.Errorf("%q does not fit in a cookie", mark)
	}
	for _, unknown := range []near.Mark{near.UnknownMark, "", mark + "0", "x" + mark} {
		if _, ok := reader.Moment(unknown); ok {
			t.Errorf("%q is known", unknown)
		}
	}
	run(t, open, "COMMIT")

	users, err := near.NewLocal(reader, near.LocalOptions[int, string]{Prefix: "user:", MaxLag: lag})
	check(t, err)
	defer users.Close(context.Background())
	db := b.pool(t)
	load := func(ctx context.Context, _ *cache.Load[string]) (name string, err error) {
		err = db.QueryRow(ctx, "SELECT name FROM users WHERE id = 1").Scan(&name)
		return name, err
	}
	for i := range 200 {
		name := fmt.Sprint(i)
		run(t, open, "UPDATE users SET name = '"+name+"'")
		mark, err := writer.Mark(t.Context())
		check(t, err)
		for range 3 {
			if got, err := users.TakeSince(t.Context(), mark, 1, load); got != name || err != nil {
				t.Errorf("since %q: %q, %v; want %q", mark, got, err, name)
			}
		}
	}
	before := users.Stats().Hits
	for hit := false; !hit; hit = users.Stats().Hits > before { // later it is read from memory
		if _, err := users.TakeSince(t.Context(), mark, 1, load); err != nil {
			t.Fatal(err)
		}
	}
}
