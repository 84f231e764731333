package cache_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestSizeOf checks that full caches take the memory that MaxWeight says, within five percent.
func TestSizeOf(t *testing.T) {
	if os.Getenv("TEST_ALONE") == "" { // what earlier tests have left must not be measured
		cmd := exec.Command(os.Args[0], "-test.run=^TestSizeOf$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_ALONE=TestSizeOf")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	type profile struct {
		name, mail string
		tags       []string
		picture    []byte
		seen       time.Time
	}
	fill(t, "numbers", func(i int) (uint64, uint64) { return uint64(i), 1 })
	fill(t, "small strings", func(i int) (string, string) { return fmt.Sprint("user:", i), fmt.Sprint("value ", i) })
	fill(t, "strings", func(i int) (string, string) {
		return fmt.Sprint("user:", i), strings.Repeat("x", rand.IntN(400))
	})
	fill(t, "bodies", func(i int) (int, []byte) { return i, make([]byte, 1+rand.IntN(20_000)) })
	fill(t, "structs", func(i int) (int, *profile) {
		return i, &profile{
			name: strings.Repeat("n", 5+i%20), mail: strings.Repeat("m", 5+i%30), seen: time.Now(),
			tags: []string{strings.Repeat("a", 20), strings.Repeat("b", i%100)}, picture: make([]byte, i%2000),
		}
	})
}

func fill[K comparable, V any](t *testing.T, name string, entry func(i int) (K, V)) {
	const most = 24 << 20
	before := inUse()
	c := cache.Must(cache.Options[K, V]{MaxWeight: most, Weigh: cache.SizeOf[K, V], Expire: time.Hour})
	evicted := func() uint64 { return c.Stats().Removals.Evicted }
	for i := 0; i == 0 || i%1000 != 0 || evicted() < 2*uint64(c.Len()); i++ {
		c.Set(entry(i))
	}
	took := inUse() - before
	if ratio := float64(took) / most; ratio < 0.95 || ratio > 1.05 {
		t.Errorf("%s: %d entries take %d bytes, %.3f of MaxWeight", name, c.Len(), took, ratio)
	}
	runtime.KeepAlive(c)
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkSizeOf(b *testing.B) {
	b.Run("int", func(b *testing.B) {
		for range b.N {
			cache.SizeOf(1, 2)
		}
	})
	name := strings.Repeat("x", 50)
	b.Run("string", func(b *testing.B) {
		for range b.N {
			cache.SizeOf(1, name)
		}
	})
	type user struct {
		name, mail string
		tags       []string
	}
	u := &user{name, name, []string{name, name, name}}
	b.Run("struct", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			cache.SizeOf(1, u)
		}
	})
}
