package model

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func open(t *testing.T, path string, fill int) *Store {
	t.Helper()
	s, err := OpenStore(path, fill)
	settle.Must(t, err)
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
	settle.Must(t, s.Delete(100))
	settle.Must(t, s.Close())
	if u, err := open(t, path, 100).Get(context.Background(), 100); !errors.Is(err, ErrNotFound) {
		t.Errorf("the deleted user is there again: %+v, %v", u, err)
	}
}
