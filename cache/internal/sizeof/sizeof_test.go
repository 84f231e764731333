package sizeof

//lint:file-ignore U1000 fields of types that are measured are read by nobody

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// TestAgainstHeap makes many values of each kind, and compares what they are said to take with
// what the heap has grown by.
//
// Catches: a kind that is not followed, a size that is not rounded up as the allocator does,
// the word before an object with pointers.
func TestAgainstHeap(t *testing.T) {
	against(t, "no heap", 5, func(i int) [4]int { return [4]int{i} })
	for _, n := range []int{8, 15, 16, 17, 100, 1000, 5000, 40_000} {
		against(t, fmt.Sprint("string of ", n), 5, func(i int) string { return strings.Repeat("x", n) })
		against(t, fmt.Sprint("bytes, ", n), 5, func(i int) []byte { return make([]byte, n) })
		against(t, fmt.Sprint("pointers, ", n), 5, func(i int) []*int { return make([]*int, n) })
	}
	type address struct{ street, city string }
	type user struct {
		id      int64
		name    string
		tags    []string
		home    *address
		since   time.Time
		other   any
		picture [20]byte
	}
	against(t, "structs", 5, func(i int) *user {
		return &user{
			name: fmt.Sprint("user ", i, strings.Repeat("!", i%50)), tags: []string{strings.Repeat("a", i%100), "constant"},
			home: &address{strings.Repeat("s", 20), strings.Repeat("c", 30)}, since: time.Now(), other: strings.Repeat("o", i%70),
		}
	})
	type full struct { // 640 bytes; as it has pointers, it takes 704
		name string
		rest [624]byte
	}
	against(t, "the only pointer first", 1, func(i int) *full { return &full{name: strings.Repeat("n", 30)} })
	against(t, "an array", 1, func(i int) *[80]*address { // of 640 bytes too
		return &[80]*address{79: {city: strings.Repeat("c", 40)}}
	})
	against(t, "interfaces", 5, func(i int) any { return [3]int{i} })
	against(t, "pointers in interfaces", 5, func(i int) any { return &address{city: strings.Repeat("c", 40)} })
	type node struct {
		next  *node
		value [5]int
	}
	against(t, "a ring", 5, func(i int) *node {
		first := &node{}
		last := first
		for range 30 {
			last.next = &node{}
			last = last.next
		}
		last.next = first
		return first
	})
	for _, n := range []int{1, 8, 9, 50, 100, 1500, 10_000} {
		against(t, fmt.Sprint("map of ", n), 35, func(i int) map[int]int {
			m := map[int]int{}
			for k := range n {
				m[k] = k
			}
			return m
		})
	}
	against(t, "map of strings", 20, func(i int) map[string]*address {
		m := map[string]*address{}
		for k := range 20 {
			m[strings.Repeat("k", 30+k)] = &address{city: strings.Repeat("c", 40)}
		}
		return m
	})
}

// against makes values for some MB and allows a difference in percent.
func against[T any](t *testing.T, name string, percent float64, make func(i int) T) {
	t.Helper()
	first := make(0)
	n := max(50, min(5000, int((1<<20)/(unsafe.Sizeof(first)+uintptr(Of(first))))))
	values := newValues[T](n)
	before := heap()
	for i := range values {
		values[i] = make(i)
	}
	took := float64(int64(heap() - before))
	said := 0.0
	for _, v := range values {
		said += float64(Of(v))
	}
	runtime.KeepAlive(values)
	if math.Abs(took-said) > took*percent/100+50_000 {
		t.Errorf("%s: %.0f bytes each, said to be %.0f", name, took/float64(n), said/float64(n))
	}
}

func newValues[T any](n int) []T { return make([]T, n) }

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Catches: what is reached twice counted twice, nil followed.
func TestSharedAndNil(t *testing.T) {
	one := new([100]int)
	if got, want := Of([]*[100]int{one, one, nil}), Of([]*[100]int{one, nil, nil}); got != want {
		t.Errorf("twice the same: %d bytes, want %d", got, want)
	}
	type everything struct {
		a any
		b *int
		c map[string]string
		d []any
		e func()
		f chan int
		g error
	}
	if got := Of(everything{}); got != 0 {
		t.Errorf("nothing takes %d bytes", got)
	}
}

// Catches: plans of a type that contains itself used before they are complete.
func TestTogether(t *testing.T) {
	type tree struct {
		kids []tree
		up   *tree
		m    map[string]tree
		any  any
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			root := &tree{kids: make([]tree, 3)}
			root.kids[0] = tree{up: root, any: root, m: map[string]tree{"x": {up: root}}}
			if got := Of(root); got < 300 || got > 2000 {
				t.Errorf("%d bytes", got)
			}
		})
	}
	all.Wait()
}
