package hash

import (
	"math"
	"strings"
	"testing"
	"unsafe"
)

type withInterface struct {
	name  string
	value any
}

// TestTry: a key that can be found again has the hash that Hash gives it, and
// that is the same for all equal keys.
func TestTry(t *testing.T) {
	good(t, "key", strings.Repeat("k", 1)+"ey")
	good(t, 0.0, math.Copysign(0, -1))
	good[any](t, nil, nil)
	good[error](t, nil, nil)
	good[any](t, 1, 1)
	good(t, [2]any{1, "x"}, [2]any{1, "x"})
	good(t, withInterface{"a", nil}, withInterface{"a", nil})
	good(t, struct{}{}, struct{}{})
	x := math.NaN()
	good(t, &x, &x)
}

func good[K comparable](t *testing.T, key, same K) {
	t.Helper()
	hasher := New[K]()
	h, err := hasher.Try(key)
	if err != nil {
		t.Errorf("Try(%v) = %v", key, err)
	}
	if again := hasher.Hash(same); h != again {
		t.Errorf("Try(%v) = %#x, and Hash(%v) = %#x", key, h, same, again)
	}
	hasher.Check(key)
}

func TestTryUnhashable(t *testing.T) {
	unhashable[any](t, []int{1}, "[]int")
	unhashable[any](t, func() {}, "func()")
	unhashable(t, [2]any{1, []string{}}, "[]string")
	unhashable(t, withInterface{"a", map[string]int{}}, "map[string]int")
	unhashable[any](t, withInterface{"a", []int{}}, "[]int")
	unhashable(t, [1]struct{ inner withInterface }{{withInterface{"a", []int{}}}}, "[]int")
}

func unhashable[K comparable](t *testing.T, key K, typ string) {
	t.Helper()
	hasher := New[K]()
	h, err := hasher.Try(key)
	if h != 0 || err == nil || !strings.Contains(err.Error(), typ) {
		t.Errorf("Try(%v) = %d, %v; want an error that names %s", key, h, err, typ)
	}
	for name, f := range map[string]func(){
		"Hash":  func() { hasher.Hash(key) },
		"Check": func() { hasher.Check(key) },
	} {
		if err, ok := recovered(f).(error); !ok || !strings.Contains(err.Error(), typ) {
			t.Errorf("%s(%v): panic %v, want one that names %s", name, key, err, typ)
		}
	}
}

// recovered calls f and returns the value of its panic, or nil.
func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func TestTryUnequal(t *testing.T) {
	nan := math.NaN()
	unequal(t, nan)
	unequal(t, float32(nan))
	unequal(t, complex(1, nan))
	unequal[any](t, nan)
	unequal(t, [2]float64{1, nan})
	unequal(t, withInterface{"a", nan})
}

func unequal[K comparable](t *testing.T, key K) {
	t.Helper()
	hasher := New[K]()
	if h, err := hasher.Try(key); h != 0 || err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("Try(%v) = %d, %v; want an error that shows the key", key, h, err)
	}
}

// TestFallible: the check is made only for types that need it.
func TestFallible(t *testing.T) {
	for name, is := range map[string]bool{
		"string":  New[string]().fallible,
		"int":     New[int]().fallible,
		"pointer": New[*any]().fallible,
		"channel": New[chan float64]().fallible,
		"unsafe":  New[unsafe.Pointer]().fallible,
		"struct": New[struct {
			a [2]string
			b *float64
		}]().fallible,
	} {
		if is {
			t.Errorf("%s: every call of Try checks for what cannot be", name)
		}
	}
}

func TestSeeds(t *testing.T) {
	a, b := New[string](), New[string]()
	if a.Hash("key") == b.Hash("key") {
		t.Error("two Hashers have the same seed")
	}
}
