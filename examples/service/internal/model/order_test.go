package model

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// soon is how long these tests wait for a mistake to show. Correct code passes with any value.
const soon = 50 * time.Millisecond

// cached returns the users of a new database with user 1.
func cached(t *testing.T, o cache.Options[int64, User]) *Users {
	o.Name = t.Name()
	return NewUsers(open(t, filepath.Join(t.TempDir(), "users.db"), 1), cache.Must(o))
}

// A write changes user 1.
type write func(*Users) error

func put(name string) write { return func(u *Users) error { return u.Put(User{ID: 1, Name: name}) } }
func remove(u *Users) error { return u.Delete(1) }

// TestTheCacheSeesWritesInOrder has two writers of one user, of whom the second may delete it. The one
// that wrote the database first is delayed before it writes the cache: that must not end with its value.
func TestTheCacheSeesWritesInOrder(t *testing.T) {
	for _, late := range []write{put("late"), remove} {
		early := make(chan struct{})
		// Weigh is called by Set, before it stores anything.
		holdUp := func(_ int64, u User) uint32 {
			if u.Name == "early" {
				close(early)
				time.Sleep(soon)
			}
			return 1
		}
		users := cached(t, cache.Options[int64, User]{MaxWeight: 10, Weigh: holdUp})
		var writers sync.WaitGroup
		begin := func(w write) {
			writers.Go(func() {
				if err := w(users); err != nil {
					t.Error(err)
				}
			})
		}
		begin(put("early"))
		<-early
		begin(late)
		writers.Wait()
		agree(t, users, 1)
	}
}

// TestTheDatabaseIsWrittenFirst delays a writer before the database. Meanwhile the entry is
// evicted and read again; at the end the cache must not have what was read.
func TestTheDatabaseIsWrittenFirst(t *testing.T) {
	for _, w := range []write{put("new"), remove} {
		users := cached(t, cache.Options[int64, User]{Limit: 10})
		other, err := users.store.db.Begin(true) // there is one writer at a time
		settle.Must(t, err)
		written := make(chan error)
		go func() { written <- w(users) }()
		time.Sleep(soon)
		users.cache.Del(1) // as an eviction would
		if _, err := users.Find(context.Background(), 1); err != nil {
			t.Error(err)
		}
		settle.Must(t, errors.Join(other.Rollback(), <-written))
		agree(t, users, 1)
	}
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
