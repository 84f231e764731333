package gozero_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/gozero/collection"
)

// TestMinuteLine checks that each minute has go-zero's line, with the counts of that minute.
func TestMinuteLine(t *testing.T) {
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		gozero.FreshLog()
		j := newJournal(t)
		users := gozero.MustNewCache[int, int](gozero.Conf{Name: "users", Limit: 10})
		idle := gozero.MustNewCache[int, int](gozero.Conf{Name: "idle", Limit: 10})
		users.Set(1, 1)
		users.Set(2, 2)
		ask(users, 5, 3)

		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		wantLines(t, j)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		wantLines(t, j, "cache(users) - qpm: 8, hit_ratio: 62.5%, elements: 2, hit: 5, miss: 3")

		ask(users, 1, 0)
		ask(idle, 0, 3)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantLines(t, j,
			"cache(idle) - qpm: 3, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 3",
			"cache(users) - qpm: 1, hit_ratio: 100.0%, elements: 2, hit: 1, miss: 0")

		time.Sleep(time.Minute)
		synctest.Wait()
		wantLines(t, j) // no traffic

		ask(users, 0, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantLines(t, j, "cache(users) - qpm: 1, hit_ratio: 0.0%, elements: 2, hit: 0, miss: 1")
		end(t, users, idle)
	})
}

// TestLogStatsIsForAllCaches checks that LogStats logs all caches, also those that this package
// did not make, and that calling it again changes nothing.
func TestLogStatsIsForAllCaches(t *testing.T) {
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		gozero.FreshLog()
		j := newJournal(t)
		before, err := collection.NewCache(time.Hour, collection.WithName("before"))
		must(t, err)
		before.Get("a") // not in the counts of the first minute
		gozero.LogStats()
		after := cache.Must(cache.Options[int, int]{Name: "after"})
		time.Sleep(30 * time.Second)
		before.Get("a")
		ask(after, 0, 2)
		gozero.LogStats()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		wantLines(t, j,
			"cache(after) - qpm: 2, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 2",
			"cache(before) - qpm: 1, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 1")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		wantLines(t, j)
		must(t, before.Close(t.Context()))
		end(t, after)
	})
}

// TestMinuteLineOfANameUsedAgain checks that a cache with the name of a closed one has lines of
// its own.
func TestMinuteLineOfANameUsedAgain(t *testing.T) {
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		gozero.FreshLog()
		j := newJournal(t)
		first := gozero.MustNewCache[int, int](gozero.Conf{Name: "users", Limit: 10})
		ask(first, 0, 100)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantLines(t, j, "cache(users) - qpm: 100, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 100")
		must(t, first.Close(t.Context()))
		time.Sleep(time.Second)
		second := gozero.MustNewCache[int, int](gozero.Conf{Name: "users", Limit: 10})
		ask(second, 0, 180)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantLines(t, j, "cache(users) - qpm: 180, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 180")
		end(t, second)
	})
}

// TestLogEndsWithTheCaches checks that no goroutine runs between the lines, that nothing is left
// when the caches are closed, and that a new cache starts the log again.
func TestLogEndsWithTheCaches(t *testing.T) {
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		gozero.FreshLog()
		j := newJournal(t)
		c := gozero.MustNewCache[int, int](gozero.Conf{Name: "users", Limit: 10})
		time.Sleep(90 * time.Second)
		synctest.Wait()
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("statLog")) {
			t.Errorf("a goroutine waits for the next line:\n%s", stacks)
		}
		if !gozero.Logging() {
			t.Error("it does not log while there is a cache")
		}
		end(t, c)

		c = gozero.MustNewCache[int, int](gozero.Conf{Name: "users", Limit: 10})
		ask(c, 0, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantLines(t, j, "cache(users) - qpm: 1, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 1")
		end(t, c)
	})
}

// ask makes hits and misses in a cache that has the key 1.
func ask(c *cache.Cache[int, int], hits, misses int) {
	for range hits {
		c.Get(1)
	}
	for range misses {
		c.Get(-1)
	}
}

// end closes the caches, and expects the log to end.
func end(t *testing.T, caches ...*cache.Cache[int, int]) {
	t.Helper()
	for _, c := range caches {
		must(t, c.Close(t.Context()))
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	if gozero.Logging() {
		t.Error("it logs on when all caches are closed")
	}
}

func wantLines(t *testing.T, j *journal, want ...string) {
	t.Helper()
	var got, wanted []string
	for _, r := range j.take() {
		got = append(got, r.Level+": "+r.Content)
	}
	for _, w := range want {
		wanted = append(wanted, fmt.Sprint("stat: ", w))
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("logged\n%q\nwant\n%q", got, wanted)
	}
}
