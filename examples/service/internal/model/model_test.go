package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func open(t *testing.T, path string, fill int) *Store {
	t.Helper()
	s, err := OpenStore(path, fill)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestOnlyANewDatabaseIsFilled checks that a new file is filled, and that an old one is not
// changed, also if users were deleted.
func TestOnlyANewDatabaseIsFilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "users.db")
	s := open(t, path, 100)
	for id := range int64(100) {
		if u, err := s.Get(context.Background(), id+1); err != nil || u != Sample(id+1, 0) {
			t.Fatalf("user %d: %+v, %v", id+1, u, err)
		}
	}
	if err := s.Delete(100); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if u, err := open(t, path, 100).Get(context.Background(), 100); !errors.Is(err, ErrNotFound) {
		t.Errorf("the deleted user is there again: %+v, %v", u, err)
	}
}

// TestTheCacheAgreesWithTheDatabase reads and writes a few users, in a cache too small for them:
// at the end the cache has nothing that the database does not have.
func TestTheCacheAgreesWithTheDatabase(t *testing.T) {
	const ids, workers, rounds = 8, 8, 60
	store := open(t, filepath.Join(t.TempDir(), "users.db"), ids)
	store.db.NoSync = true // the test needs no durability
	users := NewUsers(store, cache.Must(cache.Options[int64, User]{Name: t.Name(), Limit: ids - 2}))
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for round := range rounds {
				id := rand.Int64N(ids) + 1
				var err error
				switch rand.IntN(5) {
				case 0:
					err = users.Delete(id)
				case 1, 2:
					err = users.Put(User{ID: id, Name: fmt.Sprint(worker, round)})
				default:
					_, err = users.Find(context.Background(), id)
				}
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for id := range int64(ids) {
		agree(t, users, id+1)
	}
	if err := users.cache.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
