package heapsize_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/heapsize"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

type user struct {
	id      string
	name    string
	tags    []string
	created time.Time
	parent  *user
}

type node struct {
	next *node
	_    [40]byte
}

// text returns a new string of n bytes.
func text(n int) string { return strings.Repeat("x", n-1) + string(rune('a'+rand.N(26))) }

// TestWeigh fills caches, and compares their weight with what the heap grew by.
func TestWeigh(t *testing.T) {
	if settle.UnderRace() {
		return // the race detector takes some of the heap
	}
	number := func(i int) uint64 { return uint64(i) }
	key := func(i int) string { return fmt.Sprintf("user:%07d", i) }
	fill(t, "numbers", number, number, nil)
	fill(t, "numbers with a TTL", number, number, func(o *cache.Options[uint64, uint64]) { o.Expire = time.Hour })
	fill(t, "numbers with all", number, number, func(o *cache.Options[uint64, uint64]) {
		o.Expire, o.Idle, o.Grace, o.Ages, o.Policy = time.Hour, time.Hour, time.Hour, true, cache.Adaptive
	})
	fill(t, "short strings", func(i int) string { return fmt.Sprintf("%09d", i) }, func(int) string { return text(3) }, nil)
	fill(t, "strings", key, func(int) string { return text(100) }, nil)
	fill(t, "strings of any length", key, func(int) string { return text(1 + rand.N(2000)) }, nil)
	fill(t, "bytes", key, func(int) []byte { return make([]byte, 10+rand.N(500)) }, nil)
	fill(t, "bytes with room", key, func(int) []byte { return make([]byte, 10, 300) }, nil)
	fill(t, "long bytes", key, func(int) []byte { return make([]byte, 5000) }, nil)
	fill(t, "structs", key, func(i int) user { return user{id: text(20), name: text(30)} }, nil)
	fill(t, "pointers", key, func(i int) *user {
		return &user{id: text(20), name: text(30), tags: []string{text(10), text(17)}, created: time.Now()}
	}, nil)
	fill(t, "pointers to pointers", key, func(i int) *user { return &user{parent: &user{parent: &user{id: text(40)}}} }, nil)
	fill(t, "slices of structs", key, func(i int) []user { return make([]user, 7) }, nil)
	fill(t, "lists", key, func(i int) *node { return &node{next: &node{next: &node{}}} }, nil)
	fill(t, "interfaces", key, func(i int) any {
		return []any{1000 + i, text(20), 1.5 + float64(i), &node{}, true, 7, nil, []byte(text(30))}
	}, nil)
	fill(t, "large keys", func(i int) [20]uint64 { return [20]uint64{uint64(i)} }, func(i int) *[100]*int { return new([100]*int) }, nil)
	for _, n := range []int{0, 3, 8, 9, 14, 15, 100, 300} {
		fill(t, fmt.Sprintf("maps of %d numbers", n), number, func(i int) map[int]int {
			m := map[int]int{}
			for k := range n {
				m[k] = k
			}
			return m
		}, nil)
	}
	fill(t, "sets of strings", number, func(i int) map[string]struct{} {
		m := map[string]struct{}{}
		for range 20 {
			m[text(30)+fmt.Sprint(rand.Uint64())] = struct{}{}
		}
		return m
	}, nil)
	fill(t, "maps of large elements", number, func(i int) map[int][200]byte { return map[int][200]byte{1: {}, 2: {}, 3: {}} }, nil)
}

// fill fills a cache with a few more entries than it has room for.
func fill[K comparable, V any](t *testing.T, name string, key func(int) K, value func(int) V, change func(*cache.Options[K, V])) {
	t.Helper()
	const entries = 50_000
	o := cache.Options[K, V]{MaxWeight: math.MaxUint64}
	if change != nil {
		change(&o)
	}
	o.Weigh = heapsize.Weigh(o)
	n := entries
	for sum := uint64(0); n > 0 && sum < 50<<20; n-- {
		sum += uint64(o.Weigh(key(n), value(n)))
		o.MaxWeight = sum
	}
	before := settle.Heap()
	c := cache.Must(o)
	for i := range entries + entries/4 {
		c.Set(key(i), value(i))
	}
	grown := float64(settle.Heap() - before)
	weight := float64(c.Stats().Weight)
	t.Logf("%s: the weight is %.3f of the bytes, %.1f of %.1f an entry", name, weight/grown, weight/float64(c.Len()), grown/float64(c.Len()))
	if ratio := weight / grown; ratio < 0.95 || ratio > 1.05 {
		t.Errorf("%s: the weight is %.3f of the bytes, want within 0.05 of 1", name, ratio)
	}
	runtime.KeepAlive(c)
}

// TestWeighOnce checks that what an entry points to twice counts once, that cycles end, and what is not followed.
func TestWeighOnce(t *testing.T) {
	type values struct {
		a, b *[1000]byte
		s, u string
		next *values
		ch   chan [1000]byte
		at   *time.Location
		own  *[2000]byte
	}
	weigh := heapsize.Weigh(cache.Options[string, *values]{}, reflect.TypeFor[[2000]byte]())
	none := weigh("", &values{})
	shared, s := new([1000]byte), text(1000)
	v := &values{a: shared, b: shared, s: s, u: s, ch: make(chan [1000]byte, 9), at: time.FixedZone("x", 1), own: new([2000]byte)}
	v.next = v
	if got := weigh(s, v) - none; got != 2*1024 {
		t.Errorf("%d bytes, want an array and a string", got)
	}
	list := new(values) // so long that a walk uses a map
	last := list
	for range 100 {
		last.next = new(values)
		last = last.next
	}
	last.next = list
	if one, got := weigh("", &values{next: &values{}})-none, weigh("", list)-none; got != 100*one {
		t.Errorf("%d bytes for 100 more, of %d each", got, one)
	}
	if again := weigh("", &values{}); again != none {
		t.Errorf("%d bytes after %d", again, none)
	}
}

// TestWeighParts checks that what is met again, but longer, counts as a whole.
func TestWeighParts(t *testing.T) {
	all := make([]*[1000]byte, 100)
	for i := range all {
		all[i] = new([1000]byte)
	}
	bytes := make([]byte, 1000, 4000)
	weigh := heapsize.Weigh(cache.Options[string, [][]*[1000]byte]{})
	for _, test := range []struct {
		name         string
		parts, whole [][]*[1000]byte
	}{
		{"fewer elements", [][]*[1000]byte{all[:4], all}, [][]*[1000]byte{all, nil}},
		{"less capacity", [][]*[1000]byte{all[:1:1], all}, [][]*[1000]byte{all, nil}},
		{"longer first", [][]*[1000]byte{all, all[:4]}, [][]*[1000]byte{all, nil}},
	} {
		if got, want := weigh("", test.parts), weigh("", test.whole); got != want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, want)
		}
	}
	weighBytes := heapsize.Weigh(cache.Options[string, [2][]byte]{})
	if got, want := weighBytes("", [2][]byte{bytes[:5:5], bytes}), weighBytes("", [2][]byte{bytes}); got != want+8 { // rounded as two
		t.Errorf("%d bytes after a tiny part, want %d", got, want+8)
	}
	weighString := heapsize.Weigh(cache.Options[string, string]{})
	s := text(3000)
	if got, want := weighString(s[:1000], s), weighString("", s); got != want {
		t.Errorf("%d bytes with a key that is a part, want %d", got, want)
	}
}

// TestWeighLength checks that the pointers beyond the length of a slice are not followed: another goroutine may
// append there, as the race detector sees.
func TestWeighLength(t *testing.T) {
	all := make([]*[1000]byte, 64)
	weigh := heapsize.Weigh(cache.Options[int, []*[1000]byte]{})
	none := weigh(1, all)
	var appending sync.WaitGroup
	appending.Go(func() {
		for i := 1; i < len(all); i++ {
			all[i] = new([1000]byte)
		}
	})
	got := weigh(1, all[:1])
	if appending.Wait(); got != none || weigh(1, all[:1]) != none {
		t.Errorf("%d and %d bytes, want %d", got, weigh(1, all[:1]), none)
	}
}

// TestWeighBoxed checks that a value that several interfaces have counts once: also where each level of
// a tree has the next one twice.
func TestWeighBoxed(t *testing.T) {
	type large struct {
		_    [1000]byte
		next [2]any
	}
	weigh := heapsize.Weigh(cache.Options[int, [2]any]{})
	none, x := weigh(1, [2]any{}), any(large{})
	if got := weigh(1, [2]any{x, x}) - none; got != 1152 {
		t.Errorf("%d bytes, want one value", got)
	}
	for range 99 {
		x = large{next: [2]any{x, x}}
	}
	if got := weigh(1, [2]any{x, x}) - none; got != 100*1152 {
		t.Errorf("%d bytes, want 100 values", got)
	}
}

// TestWeighDeep checks that all of a list counts, however long it is, and of whatever kind.
func TestWeighDeep(t *testing.T) {
	const long = 2_000_000
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	weigh := heapsize.Weigh(cache.Options[int, *node]{})
	list := new(node)
	for range long - 1 {
		list = &node{next: list}
	}
	if got, want := weigh(1, list)-weigh(1, nil), uint32(long*48); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	type box struct{ next any }
	type slices []slices
	type maps map[int]maps
	var b any
	var s slices
	var m maps
	for range 1000 {
		b, s, m = box{[1]any{b}}, slices{s}, maps{1: m}
	}
	weighAny := heapsize.Weigh(cache.Options[int, any]{})
	for _, v := range []any{b, s, m} {
		if got := weighAny(1, v); got < 1000*16 {
			t.Errorf("%d bytes for %T", got, v)
		}
	}
}

// TestWeighMost checks that a weight that would be too large is the largest.
func TestWeighMost(t *testing.T) {
	all := make([]byte, 1<<28) // not touched
	var parts [][]byte
	for i := range 17 {
		parts = append(parts, all[i:])
	}
	weigh := heapsize.Weigh(cache.Options[int, [][]byte]{})
	if got := weigh(1, parts[:15:15]) - weigh(1, nil); got != 15<<28+384 {
		t.Errorf("%d for 15 parts", got)
	}
	if got := weigh(1, parts); got != math.MaxUint32 {
		t.Errorf("%d for 17 parts", got)
	}
}

// TestWeighAllocatesNothing checks that a call makes no garbage.
func TestWeighAllocatesNothing(t *testing.T) {
	if settle.UnderRace() {
		return // the race detector lets pools forget
	}
	weigh := heapsize.Weigh(cache.Options[string, *user]{})
	u := &user{id: "a", name: "b", tags: []string{"c"}, parent: &user{}}
	if n := testing.AllocsPerRun(1000, func() { weigh("key", u) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWeigh(b *testing.B) {
	benchmark(b, "strings", "key", "value")
	benchmark(b, "numbers", 1, 2)
	benchmark(b, "struct", "key", &user{id: "a", name: "b", tags: []string{"c"}, parent: &user{}})
	m := map[string]string{}
	for i := range 10 {
		m[fmt.Sprint("key", i)] = fmt.Sprint("value", i)
	}
	benchmark(b, "map", "key", m)
}

func benchmark[K comparable, V any](b *testing.B, name string, key K, value V) {
	b.Run(name, func(b *testing.B) {
		weigh := heapsize.Weigh(cache.Options[K, V]{})
		for b.Loop() {
			weigh(key, value)
		}
	})
}
