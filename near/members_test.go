package near

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// A silent source tells nothing but that it is there.
type silent struct{}

func (silent) Watch(ctx context.Context, w Watcher) {
	w.ChangedAll()
	for ctx.Err() == nil {
		w.Current(time.Now())
		sleepFor(ctx, 100*time.Millisecond)
	}
}

func sleepFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// TestMembersAreSwept checks that memory knows no more memberships than twice its entries and some, whatever
// leaves it, and still all of those that it has.
func TestMembersAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 100
		c, err := New[int, int](emptyStore{}, silent{}, Options[int, int]{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		synctest.Wait()
		groups := func(key int) []string { return []string{"all", strconv.Itoa(key % 7)} }
		known := func() (memberships int) {
			for _, in := range c.local.groups.members.byGroup {
				memberships += len(in)
			}
			return memberships
		}
		load := func(key int) {
			c.join(key, groups(key))
			c.local.cache.Set(key, key)
		}
		for key := range 100 * limit {
			end := c.local.groups.members.begin(key)
			load(key)
			end()
			if n := known(); n > 2*limit+fewMembers+2 || len(c.local.groups.members.queue) < n {
				t.Fatalf("%d memberships of %d entries, %d in the queue", n, c.local.cache.Len(), len(c.local.groups.members.queue))
			}
		}
		for key, value := range c.local.cache.All() {
			for _, group := range groups(key) {
				if c.local.groups.members.byGroup[group][value] == 0 {
					t.Errorf("%d is in memory, and nobody knows that it is in %s", key, group)
				}
			}
		}
		if n := len(c.local.groups.members.loading); n != 0 {
			t.Errorf("%d loads are still under way", n)
		}
		for range 1000 { // again and again into a group that is removed
			load(1)
			c.local.groups.end("all", func(int) {})
		}
		if n := len(c.local.groups.members.queue); n > 2*limit+fewMembers+2 {
			t.Errorf("%d in the queue", n)
		}
	})
}

// TestSweepBreaksLoads checks that a load which ends while its key is swept is not kept: nobody would
// know its groups.
func TestSweepBreaksLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New[int, int](emptyStore{}, silent{}, Options[int, int]{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		synctest.Wait()
		_, err = c.local.cache.TakeCtx(t.Context(), 1, func(ctx context.Context) (int, error) {
			defer c.local.groups.members.begin(1)()
			c.join(1, []string{"a"})
			for key := 2; key < 1000; key++ {
				c.join(key, []string{"a"}) // none of them is in memory
			}
			return 1, nil
		})
		if _, swept := c.local.groups.members.byGroup["a"][1]; err != nil || swept || c.local.has(1) {
			t.Errorf("%v; is member: %v, in memory: %v", err, swept, c.local.has(1))
		}
	})
}

// An emptyStore has nothing.
type emptyStore struct{}

func (emptyStore) Get(_ context.Context, keys ...string) ([]Item, error) {
	return make([]Item, len(keys)), nil
}
func (emptyStore) Set(context.Context, string, Item) error { return nil }
func (emptyStore) Del(context.Context, ...string) error    { return nil }
