package gozero_test

import (
	"bytes"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/gozero/collection"
	"github.com/pinwheel-cache/pinwheel/gozero/internal/minutelog"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestMinuteLine checks that each minute has go-zero's line, with the counts of that minute.
func TestMinuteLine(t *testing.T) {
	inFakeTime(t, func(t *testing.T, j *journal) {
		users, idle := limited("users"), limited("idle")
		users.Set(1, 1)
		users.Set(2, 2)
		ask(users, 5, 3)

		pass(time.Minute - time.Nanosecond)
		j.hasLines()
		pass(time.Nanosecond)
		j.hasLines("cache(users) - qpm: 8, hit_ratio: 62.5%, elements: 2, hit: 5, miss: 3")

		ask(users, 1, 0)
		ask(idle, 0, 3)
		pass(time.Minute)
		j.hasLines(
			"cache(idle) - qpm: 3, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 3",
			"cache(users) - qpm: 1, hit_ratio: 100.0%, elements: 2, hit: 1, miss: 0")

		pass(time.Minute)
		j.hasLines() // no traffic

		ask(users, 0, 1)
		pass(time.Minute)
		j.hasLines("cache(users) - qpm: 1, hit_ratio: 0.0%, elements: 2, hit: 0, miss: 1")
		end(t, users, idle)
	})
}

// TestLogStatsIsForAllCaches checks that LogStats logs all caches, also those that this package
// did not make, and that calling it again changes nothing.
func TestLogStatsIsForAllCaches(t *testing.T) {
	inFakeTime(t, func(t *testing.T, j *journal) {
		before := cache.Must(cache.Options[string, int]{Name: "before"})
		before.Get("a") // not in the counts of the first minute
		gozero.LogStats()
		after := cache.Must(cache.Options[int, int]{Name: "after"})
		pass(30 * time.Second)
		before.Get("a")
		ask(after, 0, 2)
		gozero.LogStats()
		pass(30 * time.Second)
		j.hasLines(
			"cache(after) - qpm: 2, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 2",
			"cache(before) - qpm: 1, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 1")
		pass(30 * time.Second)
		j.hasLines()
		must(t, before.Close(t.Context()))
		end(t, after)
	})
}

// TestLogEndsWithTheCaches checks that no goroutine runs between the lines, that nothing is left
// when the caches are closed, and that a new cache starts the log again. One with the name of a
// closed one has lines of its own.
func TestLogEndsWithTheCaches(t *testing.T) {
	inFakeTime(t, func(t *testing.T, j *journal) {
		c := limited("users")
		ask(c, 0, 100)
		pass(time.Minute)
		j.hasLines("cache(users) - qpm: 100, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 100")
		must(t, c.Close(t.Context()))
		pass(time.Second)
		c = limited("users")
		ask(c, 0, 180)
		pass(89 * time.Second)
		j.hasLines("cache(users) - qpm: 180, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 180")
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("minutelog")) {
			t.Errorf("a goroutine waits for the next line:\n%s", stacks)
		}
		if !minutelog.Process.Running() {
			t.Error("it does not log while there is a cache")
		}
		end(t, c)

		c = limited("users")
		ask(c, 0, 1)
		pass(time.Minute)
		j.hasLines("cache(users) - qpm: 1, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 1")
		end(t, c)
	})
}

// TestCollectionHasItsLine checks that a cache of gozero/collection has its line by itself, as in go-zero.
func TestCollectionHasItsLine(t *testing.T) {
	inFakeTime(t, func(t *testing.T, j *journal) {
		c, err := collection.NewCache(time.Hour)
		must(t, err)
		c.Get("a")
		pass(time.Minute)
		j.hasLines("cache(proc) - qpm: 1, hit_ratio: 0.0%, elements: 0, hit: 0, miss: 1")
		must(t, c.Close(t.Context()))
		end(t)
	})
}

// TestSourceThatMakesACache checks that a source may make a cache while it is asked.
func TestSourceThatMakesACache(t *testing.T) {
	inFakeTime(t, func(t *testing.T, j *journal) {
		began := time.Now()
		_, unregister := sources.Register(sources.Cache[stats.Snapshot]{Name: "source", Snapshot: func() (stats.Snapshot, bool) {
			gozero.LogStats()
			return stats.Snapshot{Hits: uint64(time.Since(began) / time.Minute)}, true
		}})
		gozero.LogStats()
		pass(time.Minute)
		j.hasLines("cache(source) - qpm: 1, hit_ratio: 100.0%, elements: 0, hit: 1, miss: 0")
		unregister()
		end(t)
	})
}

// inFakeTime runs a test with a log of its own, without caches of others.
func inFakeTime(t *testing.T, test func(*testing.T, *journal)) {
	t.Helper()
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		freshLog()
		test(t, newJournal(t))
	})
}

// freshLog begins the log anew, in the bubble of a test. An earlier log goes on by itself.
func freshLog() { minutelog.Process = new(minutelog.Log) }

// pass lets time pass, and runs what is due at its end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// limited returns a cache for ten entries, whose entries do not expire.
func limited(name string) *cache.Cache[int, int] {
	return gozero.MustNewCache[int, int](gozero.Conf{Name: name, Limit: 10})
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
	pass(time.Minute)
	if minutelog.Process.Running() {
		t.Error("it logs on when all caches are closed")
	}
}

// hasLines checks what was logged since the last look.
func (j *journal) hasLines(want ...string) {
	j.t.Helper()
	var got []string
	for _, r := range j.take() {
		if got = append(got, r.Content); r.Level != "stat" {
			j.t.Errorf("the level of %q is %s", r.Content, r.Level)
		}
	}
	if !slices.Equal(got, want) {
		j.t.Errorf("logged\n%q\nwant\n%q", got, want)
	}
}
