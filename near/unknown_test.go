package near_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// TestUnknownKeysAreNotTold checks that requests for keys that cannot exist write nothing to
// the store, so that other instances hear of none, and that their "not found" is kept in
// memory. Keys that may exist, in the same calls, are leased and stored as ever.
func TestUnknownKeysAreNotTold(t *testing.T) {
	for name, store := range map[string]func(*server) near.Store{
		"with leases":    func(s *server) near.Store { return s },
		"without leases": func(s *server) near.Store { return plain{s} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newServer()
				o := near.Options[string, string]{NotFoundExpire: time.Minute, MaxLag: time.Second,
					MayExist: func(key string) bool { return !strings.HasPrefix(key, "bot") }}
				asked, err := near.New(store(s), s, o)
				if err != nil {
					t.Fatal(err)
				}
				defer asked.Close(context.Background())
				other := instances(t, s, 1, o)[0]
				told := func() uint64 { synctest.Wait(); return other.Stats().Near.Changes }
				before, fetched := told(), 0
				take := func(key, value string) (string, error) {
					return asked.Take(t.Context(), key, func(context.Context) (string, error) {
						if fetched++; value == "" {
							return "", near.ErrNotFound
						}
						return value, nil
					})
				}
				const many = 100
				for range 2 {
					for i := range many {
						if _, err := take("bot"+strconv.Itoa(i), ""); !errors.Is(err, near.ErrNotFound) {
							t.Fatal(err)
						}
					}
				}
				if n := told(); fetched != many || n != before || len(s.items) != 0 {
					t.Errorf("%d fetches, %d changes told, %d in the store; want %d, 0 and 0", fetched, n-before, len(s.items), many)
				}
				if value, err := take("bottle", "green"); value != "green" || err != nil || len(s.items) != 0 {
					t.Errorf("a value in spite of MayExist: %q, %v, %d in the store", value, err, len(s.items))
				}
				time.Sleep(time.Second)
				if value, err := take("bottle", "red"); value != "red" || err != nil {
					t.Errorf("MaxLag later: %q, %v; nobody tells of its changes", value, err)
				}
				values, err := asked.TakeMany(t.Context(), []string{"user1", "bot", "user2", "bottles"}, func(_ context.Context, keys []string) (map[string]string, error) {
					return map[string]string{"user1": "one", "user2": "two", "bottles": "ten"}, nil
				})
				if len(values) != 3 || values["user1"] != "one" || values["user2"] != "two" || values["bottles"] != "ten" || err != nil {
					t.Errorf("TakeMany: %v, %v", values, err)
				}
				if n := told(); n == before || len(s.items) != 2 || string(s.items["user2"].Value) != `"two"` {
					t.Errorf("%d changes told, the store has %v; want user1 and user2", n-before, s.items)
				}
				if err := other.Set(t.Context(), "bot1", "human"); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if value, err := take("bot1", ""); value != "human" || err != nil {
					t.Errorf("after a Set: %q, %v", value, err)
				}
			})
		})
	}
}
