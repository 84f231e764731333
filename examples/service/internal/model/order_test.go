package model

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// soon is how long these tests wait for a mistake to show. Correct code passes with any value.
const soon = 50 * time.Millisecond

// within reports whether ok becomes true soon.
func within(ok func() bool) bool {
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

// TestTheCacheSeesWritesInOrder has two writers of one user. The one that wrote the database
// first is delayed before it writes the cache: the cache must not end with its value.
func TestTheCacheSeesWritesInOrder(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "users.db"), 1)
	var users *Users
	early := make(chan struct{})
	// Weigh is called by Set, before it stores anything.
	holdUp := func(_ int64, u User) uint32 {
		if u.Name == "early" {
			close(early)
			within(func() bool {
				got, _ := users.cache.Peek(1)
				return got.Name == "late"
			})
		}
		return 1
	}
	users = NewUsers(store, cache.Must(cache.Options[int64, User]{Name: t.Name(), MaxWeight: 10, Weigh: holdUp}))
	var writers sync.WaitGroup
	write := func(name string) {
		if err := users.Put(User{ID: 1, Name: name}); err != nil {
			t.Error(err)
		}
	}
	writers.Go(func() { write("early") })
	<-early
	writers.Go(func() { write("late") })
	writers.Wait()
	agree(t, users, 1)
}

// TestTheDatabaseIsWrittenFirst delays a writer before the database. Meanwhile the entry is
// evicted and read again; at the end the cache must not have what was read.
func TestTheDatabaseIsWrittenFirst(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "users.db"), 1)
	users := NewUsers(store, cache.Must(cache.Options[int64, User]{Name: t.Name(), Limit: 10}))
	other, err := store.db.Begin(true) // there is one writer at a time
	if err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := users.Put(User{ID: 1, Name: "new"}); err != nil {
			t.Error(err)
		}
	})
	within(func() bool { _, ok := users.cache.Peek(1); return ok })
	users.cache.Del(1) // as an eviction would
	if _, err := users.Find(context.Background(), 1); err != nil {
		t.Error(err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	writer.Wait()
	agree(t, users, 1)
}

// agree checks that a user is the same in the cache and in the database.
func agree(t *testing.T, users *Users, id int64) {
	t.Helper()
	cached, err := users.Find(context.Background(), id)
	stored, storeErr := users.store.Get(context.Background(), id)
	if cached != stored || err != storeErr {
		t.Errorf("user %d: the cache says %+v, %v; the database %+v, %v", id, cached, err, stored, storeErr)
	}
}
