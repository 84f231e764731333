package stats_test

import (
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"
	"weak"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func names(named []stats.Named) []string {
	var names []string
	for _, n := range named {
		names = append(names, n.Name)
	}
	return names
}

func checkNames(t *testing.T, r *stats.Registry, want ...string) {
	t.Helper()
	if got := names(r.All()); !slices.Equal(got, want) {
		t.Fatalf("All has %q, want %q", got, want)
	}
}

func TestNamesAreUnique(t *testing.T) {
	var r stats.Registry
	checkNames(t, &r)
	source := always(stats.Snapshot{})
	tests := []struct{ name, want string }{
		{"users", "users"},
		{"users", "users-2"},
		{"users-3", "users-3"},
		{"users", "users-4"},
		{"users-2", "users-2-2"},
		{"", "cache"},
		{"", "cache-2"},
		{"bad\xff", "bad\uFFFD"},
		{"bad\xfe", "bad\uFFFD-2"}, // differs from the one above in the bad byte only
	}
	var want []string
	for _, test := range tests {
		got, _ := r.Register(test.name, source)
		if got != test.want {
			t.Errorf("Register(%q) = %q, want %q", test.name, got, test.want)
		}
		want = append(want, test.want)
	}
	slices.Sort(want)
	checkNames(t, &r, want...)
}

func TestAFreedNameIsUsedAgain(t *testing.T) {
	var r stats.Registry
	source := always(stats.Snapshot{})
	_, removeFirst := r.Register("users", source)
	_, removeSecond := r.Register("users", source)
	removeSecond()
	checkNames(t, &r, "users")
	if got, _ := r.Register("users", source); got != "users-2" {
		t.Errorf("the freed name is %q, want %q", got, "users-2")
	}
	removeFirst()
	if got, _ := r.Register("users", source); got != "users" {
		t.Errorf("the freed name is %q, want %q", got, "users")
	}
	// The name belongs to another cache now.
	removeFirst()
	removeSecond()
	checkNames(t, &r, "users", "users-2")
}

func TestASourceThatIsGoneIsDropped(t *testing.T) {
	var r stats.Registry
	gone, looks := false, 0
	r.Register("users", func() (stats.Snapshot, bool) {
		looks++
		return stats.Snapshot{Hits: 7}, !gone
	})
	if all := r.All(); len(all) != 1 || all[0].Snapshot.Hits != 7 {
		t.Fatalf("All = %v, want one with 7 hits", all)
	}
	gone = true
	checkNames(t, &r)
	checkNames(t, &r)
	if looks != 2 {
		t.Errorf("the source was called %d times, want 2: once there, once gone", looks)
	}
	if got, _ := r.Register("users", always(stats.Snapshot{})); got != "users" {
		t.Errorf("the name after the drop is %q, want %q", got, "users")
	}
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
	runtime.GC()
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

func TestRegisterWithoutASourcePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Register with a nil source did not panic")
		}
	}()
	stats.Register("users", nil)
}

func TestRegistryModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r stats.Registry
		removers := map[string]func(){}
		gone := map[string]bool{}
		var old []func()
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"", "a", "a-2", "a\xff", "a\xfe"}).Draw(t, "name")
				var unique string
				unique, remove := r.Register(name, func() (stats.Snapshot, bool) {
					return stats.Snapshot{}, !gone[unique]
				})
				if removers[unique] != nil {
					t.Fatalf("%q is taken", unique)
				}
				if unique == "" || !utf8.ValidString(unique) {
					t.Fatalf("bad name %q", unique)
				}
				removers[unique] = remove
			},
			"unregister": func(t *rapid.T) {
				for name, remove := range removers {
					remove()
					delete(removers, name)
					delete(gone, name)
					old = append(old, remove)
					break
				}
			},
			"unregister again": func(t *rapid.T) {
				for _, remove := range old {
					remove()
				}
			},
			"lose and look": func(t *rapid.T) {
				for name, remove := range removers {
					gone[name] = true
					r.All()
					delete(removers, name)
					delete(gone, name)
					old = append(old, remove)
					break
				}
			},
			"": func(t *rapid.T) {
				got := names(r.All())
				if !slices.IsSorted(got) || len(got) != len(removers) {
					t.Fatalf("All has %q, want the %d registered, sorted", got, len(removers))
				}
				for _, name := range got {
					if removers[name] == nil {
						t.Fatalf("%q is not registered", name)
					}
				}
			},
		})
	})
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	const workers, rounds = 8, 200
	var r stats.Registry
	var taken sync.Map
	var clashes atomic.Int32
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				gone := new(atomic.Bool)
				name, remove := r.Register("users", func() (stats.Snapshot, bool) {
					return stats.Snapshot{Hits: 1}, !gone.Load()
				})
				if _, loaded := taken.LoadOrStore(name, true); loaded {
					clashes.Add(1)
				}
				all := names(r.All())
				if !slices.Contains(all, name) || !slices.IsSorted(all) {
					clashes.Add(1)
				}
				taken.Delete(name)
				if (w+i)%2 == 0 {
					gone.Store(true)
					r.All()
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
	checkNames(t, &r)
}

func TestRegisterAndAllOfTheProcess(t *testing.T) {
	name, remove := stats.Register("of the process", always(stats.Snapshot{Sets: 3}))
	defer remove()
	if all := stats.All(); len(all) != 1 || all[0].Name != name || all[0].Snapshot.Sets != 3 {
		t.Errorf("All = %v, want the one registered", all)
	}
	remove()
	if all := stats.All(); len(all) != 0 {
		t.Errorf("All = %v, want none", all)
	}
}

func BenchmarkRegisterAmongSameNames(b *testing.B) {
	for _, n := range []int{0, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var r stats.Registry
			for range n {
				r.Register("users", always(stats.Snapshot{}))
			}
			for b.Loop() {
				_, remove := r.Register("users", always(stats.Snapshot{}))
				remove()
			}
		})
	}
}
