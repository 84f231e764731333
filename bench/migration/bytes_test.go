package migration

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/allegro/bigcache/v3"
	"github.com/coocood/freecache"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestBytesAreCopies: bigcache and freecache keep copies of values; pinwheel keeps the value.
func TestBytesAreCopies(t *testing.T) {
	big, err := bigcache.New(t.Context(), bigcache.DefaultConfig(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	free := freecache.NewCache(1 << 20)
	ours := cache.Must(cache.Options[string, []byte]{Limit: 10})
	value := []byte("a")
	if err := errors.Join(big.Set("k", value), free.Set([]byte("k"), value, 0)); err != nil {
		t.Fatal(err)
	}
	ours.Set("k", value)
	value[0] = 'b'
	inBig, _ := big.Get("k")
	inFree, _ := free.Get([]byte("k"))
	inOurs, _ := ours.Get("k")
	if !bytes.Equal(inBig, []byte("a")) || !bytes.Equal(inFree, []byte("a")) || !bytes.Equal(inOurs, []byte("b")) {
		t.Errorf("bigcache %s, freecache %s, pinwheel %s; want a, a and b", inBig, inFree, inOurs)
	}
}

// TestBigcacheFindsExpired: without a clean-up bigcache finds what is older than LifeWindow.
func TestBigcacheFindsExpired(t *testing.T) {
	config := bigcache.DefaultConfig(time.Second)
	config.CleanWindow = 0
	big, err := bigcache.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	ours := cache.Must(cache.Options[string, []byte]{Expire: time.Second})
	if err := big.Set("k", []byte("a")); err != nil {
		t.Fatal(err)
	}
	ours.Set("k", []byte("a"))
	time.Sleep(2100 * time.Millisecond)
	_, err = big.Get("k")
	if _, ok := ours.Get("k"); err != nil || ok {
		t.Errorf("bigcache: %v; pinwheel finds it: %t", err, ok)
	}
}

// TestFreecacheLargeEntry: freecache refuses a value larger than a 1024th of the cache;
// pinwheel refuses one heavier than MaxWeight.
func TestFreecacheLargeEntry(t *testing.T) {
	const size = 1 << 20
	free := freecache.NewCache(size)
	value := make([]byte, size/1024)
	if err := free.Set([]byte("k"), value, 0); !errors.Is(err, freecache.ErrLargeEntry) {
		t.Errorf("freecache: %v, want ErrLargeEntry", err)
	}
	ours := cache.Must(cache.Options[string, []byte]{MaxWeight: size, Weigh: func(k string, v []byte) uint32 { return uint32(len(k) + len(v)) }})
	ours.Set("k", value)
	if _, ok := ours.Get("k"); !ok {
		t.Error("pinwheel has not kept it")
	}
}

// TestFreecacheTTL: freecache counts in seconds, 0 or less is for ever; here a negative one
// removes the key.
func TestFreecacheTTL(t *testing.T) {
	free := freecache.NewCache(1 << 20)
	ours := cache.Must(cache.Options[string, []byte]{})
	if err := free.Set([]byte("k"), []byte("a"), -1); err != nil {
		t.Fatal(err)
	}
	ours.SetWithExpire("k", []byte("a"), -1)
	_, err := free.Get([]byte("k"))
	if _, ok := ours.Get("k"); err != nil || ok {
		t.Errorf("freecache: %v; pinwheel finds it: %t", err, ok)
	}
}
