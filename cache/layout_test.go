package cache

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
)

// on64 says whether addresses have 64 bits, for which shards are laid out.
const on64 = unsafe.Sizeof(uintptr(0)) == 8

// TestAlignment checks that shards begin where cache lines do, however many there are.
func TestAlignment(t *testing.T) {
	if !on64 {
		return
	}
	for _, limit := range []int{1, 8192, 20_000, 40_000, 1 << 17, 1 << 20, 0} {
		c := Must(Options[string, int]{Limit: limit})
		if rest := uintptr(unsafe.Pointer(&c.allShards()[0])) % 64; rest != 0 {
			t.Errorf("limit %d: the first of %d shards begins at byte %d of a cache line", limit, len(c.common.table.Load().shards), rest)
		}
	}
}

// TestLayout checks that a write changes one cache line of a shard, and that a Get reads
// one other, besides the lock.
func TestLayout(t *testing.T) {
	if !on64 {
		return
	}
	const line = 64
	var s shard[string, int]
	if size := unsafe.Sizeof(s); size&(size-1) != 0 {
		t.Errorf("a shard has %d bytes", size)
	}
	if end := unsafe.Offsetof(s.common) + unsafe.Sizeof(s.common); end > line {
		t.Errorf("what a Get reads ends at byte %d", end)
	}
	mu, _ := reflect.TypeFor[biased.Lock]().FieldByName("mu")
	begin := unsafe.Offsetof(s.lock) + mu.Offset
	end := unsafe.Offsetof(s.removals) + unsafe.Sizeof(s.removals[0])*uintptr(Replaced)
	if begin%line != 0 || end > begin+line {
		t.Errorf("what a write changes goes from byte %d to %d", begin, end)
	}
}
