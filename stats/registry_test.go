package stats_test

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func names(r *stats.Registry) []string      { return namesOf(r.Caches()) }
func wheelNames(r *stats.Registry) []string { return namesOf(r.Wheels()) }

func namesOf[S any](all []stats.Named[S]) (names []string) {
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names
}

func checkNames(t *testing.T, r *stats.Registry, want ...string) {
	t.Helper()
	if got := names(r); !slices.Equal(got, want) {
		t.Fatalf("Caches has %q, want %q", got, want)
	}
}

// The names of caches are unique among caches, and those of wheels among wheels.
func TestNamesAreUnique(t *testing.T) {
	var r stats.Registry
	checkNames(t, &r)
	var caches, wheels []string
	for _, test := range []struct{ name, want string }{
		{"users", "users"},
		{"users", "users-2"},
		{"users-3", "users-3"},
		{"users", "users-4"},
		{"users-2", "users-2-2"},
		{"", "cache"},
		{"", "cache-2"},
		{"bad\xff", "bad\uFFFD"},
		{"bad\xfe", "bad\uFFFD-2"}, // differs from the one above in the bad byte only
	} {
		if got, _ := r.Register(test.name, always(stats.Snapshot{})); got != test.want {
			t.Errorf("Register(%q) = %q, want %q", test.name, got, test.want)
		}
		r.RegisterWheel(test.name, always(stats.WheelSnapshot{}))
		caches, wheels = append(caches, test.want), append(wheels, strings.Replace(test.want, "cache", "wheel", 1))
	}
	slices.Sort(caches)
	slices.Sort(wheels)
	checkNames(t, &r, caches...)
	if got := wheelNames(&r); !slices.Equal(got, wheels) {
		t.Errorf("Wheels has %q, want %q", got, wheels)
	}
}

func TestASourceThatIsGoneIsDropped(t *testing.T) {
	var r stats.Registry
	gone, looks := false, 0
	_, unregister := r.Register("users", func() (stats.Snapshot, bool) {
		looks++
		return stats.Snapshot{Hits: 7}, !gone
	})
	if all := r.Caches(); len(all) != 1 || all[0].Snapshot.Hits != 7 {
		t.Fatalf("Caches = %v, want one with 7 hits", all)
	}
	gone = true
	checkNames(t, &r)
	checkNames(t, &r)
	if looks != 2 {
		t.Errorf("the source was called %d times, want 2: once there, once gone", looks)
	}
	r.Register("users", always(stats.Snapshot{}))
	unregister() // of the one that is gone, not of the next with its name
	checkNames(t, &r, "users")
}

func TestASourceWithAWeakPointerKeepsNothingAlive(t *testing.T) {
	var r stats.Registry
	type cache struct{ hits [1024]uint64 }
	c := &cache{}
	held := weak.Make(c)
	r.Register("users", func() (stats.Snapshot, bool) {
		c := held.Value()
		if c == nil {
			return stats.Snapshot{}, false
		}
		return stats.Snapshot{Hits: c.hits[0]}, true
	})
	checkNames(t, &r, "users")
	runtime.KeepAlive(c)
	settle.Collected(func() bool { return held.Value() == nil })
	checkNames(t, &r)
}

// A cache may register and unregister while it holds the lock that its source
// takes, and a source may look at the registry itself.
func TestSourcesAreCalledWithoutALock(t *testing.T) {
	var r stats.Registry
	var remove func()
	_, remove = r.Register("a", func() (stats.Snapshot, bool) {
		remove()
		r.Register("b", always(stats.Snapshot{}))
		return stats.Snapshot{}, true
	})
	checkNames(t, &r, "a")
	checkNames(t, &r, "b")
}

func TestRegisterWithoutASnapshotPanics(t *testing.T) {
	checkPanics(t, "stats: Snapshot of a source is nil: want a function", func() { sources.Register(sources.Cache[stats.Snapshot]{Name: "users"}) })
	checkPanics(t, "stats: Snapshot of a source is nil: want a function", func() { sources.Register(sources.Wheel[stats.WheelSnapshot]{Name: "users"}) })
}

func checkPanics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("the panic is %v, want %q", got, want)
		}
	}()
	f()
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	var r stats.Registry
	var wg sync.WaitGroup
	h := r.Handler() // keeps histories
	wg.Go(func() {
		churn(t, r.Register, func() []string { r.Sample(time.Now()); show(t, h, 1); return names(&r) })
	})
	wg.Go(func() { churn(t, r.RegisterWheel, func() []string { return wheelNames(&r) }) })
	wg.Wait()
	checkNames(t, &r)
	if left := wheelNames(&r); len(left) > 0 {
		t.Errorf("Wheels has %q, want none", left)
	}
}

// churn registers and removes sources with one name from several goroutines, and checks that
// each has a unique name, which is among the names that look returns.
func churn[S any](t *testing.T, register func(string, func() (S, bool)) (string, func()), look func() []string) {
	const workers, rounds = 8, 200
	var taken sync.Map
	var clashes atomic.Int32
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				gone := new(atomic.Bool)
				name, remove := register("users", func() (S, bool) {
					var s S
					return s, !gone.Load()
				})
				if _, loaded := taken.LoadOrStore(name, true); loaded {
					clashes.Add(1)
				}
				all := look()
				if !slices.Contains(all, name) || !slices.IsSorted(all) {
					clashes.Add(1)
				}
				taken.Delete(name)
				if (w+i)%2 == 0 {
					gone.Store(true)
					look()
				}
				remove()
				remove()
			}
		})
	}
	wg.Wait()
	if n := clashes.Load(); n != 0 {
		t.Errorf("%d names were not unique or not there", n)
	}
}

// TestManyOfOneName checks that the ten thousandth cache with one name does not try all earlier
// names, and that freed names are used again.
func TestManyOfOneName(t *testing.T) {
	var r stats.Registry
	var unregister []func()
	for i := range 10_000 {
		name, u := r.Register("users", always(stats.Snapshot{}))
		if want := "users-" + strconv.Itoa(i+1); i > 0 && name != want {
			t.Fatalf("%q, want %q", name, want)
		}
		unregister = append(unregister, u)
	}
	for _, i := range []int{5000, 70, 7, 0} {
		unregister[i]()
	}
	for _, want := range []string{"users", "users-8", "users-71", "users-5001", "users-10001"} {
		if name, _ := r.Register("users", always(stats.Snapshot{})); name != want {
			t.Errorf("%q, want %q", name, want)
		}
	}
}
