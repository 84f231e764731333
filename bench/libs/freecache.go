package libs

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/coocood/freecache"
)

// freecacheHeader is what freecache stores before key and value.
const freecacheHeader = 24

// newFreecache returns a freecache for a number of entries: its capacity is in
// bytes.
func newFreecache(entries, keySize int) *freecache.Cache {
	return freecache.NewCache(entries * (freecacheHeader + keySize + 8))
}

// seconds returns a TTL in the seconds of freecache, whose entries may expire up
// to one of them early.
func seconds(ttl time.Duration) int {
	if ttl == 0 {
		return 0
	}
	return int((ttl+time.Second-1)/time.Second) + 1
}

type freecacheUint64 struct {
	c   *freecache.Cache
	ttl int
}

func newFreecacheUint64(c Config[uint64, uint64]) Cache[uint64, uint64] {
	return freecacheUint64{newFreecache(c.Capacity, 8), seconds(c.TTL)}
}

func (f freecacheUint64) Get(key uint64) (value uint64, ok bool) {
	var k [8]byte
	binary.LittleEndian.PutUint64(k[:], key)
	err := f.c.GetFn(k[:], func(v []byte) error {
		value = binary.LittleEndian.Uint64(v)
		return nil
	})
	return value, err == nil
}

func (f freecacheUint64) Set(key, value uint64) { f.set(key, value, f.ttl) }

func (f freecacheUint64) SetTTL(key, value uint64, ttl time.Duration) {
	f.set(key, value, seconds(ttl))
}

func (f freecacheUint64) set(key, value uint64, ttl int) {
	var k, v [8]byte
	binary.LittleEndian.PutUint64(k[:], key)
	binary.LittleEndian.PutUint64(v[:], value)
	_ = f.c.Set(k[:], v[:], ttl) // fails only for large entries
}

func (f freecacheUint64) Touch(key uint64, ttl time.Duration) {
	var k [8]byte
	binary.LittleEndian.PutUint64(k[:], key)
	_ = f.c.Touch(k[:], seconds(ttl)) // fails if there is no entry
}

func (f freecacheUint64) Len() int { return int(f.c.EntryCount()) }

// freecacheString stores what the values point to, for a cache of bytes cannot
// hold pointers: each hit makes a new value.
type freecacheString struct {
	c   *freecache.Cache
	ttl int
}

func newFreecacheString(c Config[string, *uint64]) Cache[string, *uint64] {
	return freecacheString{newFreecache(c.Capacity, 20), seconds(c.TTL)}
}

func (f freecacheString) Get(key string) (*uint64, bool) {
	value := new(uint64)
	err := f.c.GetFn(bytesOf(key), func(v []byte) error {
		*value = binary.LittleEndian.Uint64(v)
		return nil
	})
	return value, err == nil
}

func (f freecacheString) Set(key string, value *uint64) { f.set(key, value, f.ttl) }

func (f freecacheString) SetTTL(key string, value *uint64, ttl time.Duration) {
	f.set(key, value, seconds(ttl))
}

func (f freecacheString) set(key string, value *uint64, ttl int) {
	var v [8]byte
	binary.LittleEndian.PutUint64(v[:], *value)
	_ = f.c.Set(bytesOf(key), v[:], ttl) // fails only for large entries
}

func (f freecacheString) Touch(key string, ttl time.Duration) {
	_ = f.c.Touch(bytesOf(key), seconds(ttl)) // fails if there is no entry
}

func (f freecacheString) Len() int { return int(f.c.EntryCount()) }

// bytesOf spares a copy: freecache only reads keys.
func bytesOf(key string) []byte { return unsafe.Slice(unsafe.StringData(key), len(key)) }
