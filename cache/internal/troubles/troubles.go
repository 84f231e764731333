// Package troubles remembers the keys of a cache whose loads fail or take long, for operators.
package troubles

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// Most is how many keys that fail are known.
const Most = 64

const (
	slowest  = 10                    // keys that were slow
	slowFrom = 10 * time.Millisecond // a shorter load is not slow

	failedFor = 5 * time.Minute // a key that has not failed again is forgotten
	slowFor   = time.Minute     // likewise one that was slow
)

// Keys are the keys of a cache in trouble: those whose last load has failed, and those whose loads took
// longest in the last minute. The zero Keys has none. It is safe for concurrent use, and calls no
// function of the user.
type Keys[K comparable] struct {
	failing atomic.Int32 // as many as in fail; without any, a load that succeeds fast leaves no trace
	mu      sync.Mutex   // guards what follows
	fail    map[K]*Key[K]
	slow    map[K]*Key[K]
}

// A Key is a key in trouble. The Key of its BadKey is not set.
type Key[K comparable] struct {
	Key K
	sources.BadKey
	last time.Time // when its last load ended
}

// Failed notes that a load of a key has failed, or takes too long.
func (k *Keys[K]) Failed(key K, hash uint64, took time.Duration, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail == nil {
		k.fail = make(map[K]*Key[K])
	}
	now, bad := time.Now(), k.fail[key]
	if bad == nil {
		makeRoom(k.fail, Most, failedFor, func(a, b *Key[K]) int { return cmp.Or(cmp.Compare(a.Failed, b.Failed), b.Since.Compare(a.Since)) })
		bad = &Key[K]{Key: key, BadKey: sources.BadKey{Hash: hash, Since: now}}
		k.fail[key] = bad
	}
	bad.Failed++
	bad.Err, bad.Took, bad.last = err, took, now
	k.failing.Store(int32(len(k.fail)))
	k.slowed(key, hash, took, now)
}

// Succeeded notes that a load of a key has brought a value, or that there is none.
func (k *Keys[K]) Succeeded(key K, hash uint64, took time.Duration) {
	if took < slowFrom && k.failing.Load() == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.fail, key)
	forget(k.fail, failedFor)
	k.failing.Store(int32(len(k.fail)))
	k.slowed(key, hash, took, time.Now())
}

// slowed notes how long the last load of a key took, if it is one of the slowest. k.mu must be held.
func (k *Keys[K]) slowed(key K, hash uint64, took time.Duration, now time.Time) {
	delete(k.slow, key)
	if took < slowFrom {
		return
	}
	if k.slow == nil {
		k.slow = make(map[K]*Key[K])
	}
	k.slow[key] = &Key[K]{Key: key, BadKey: sources.BadKey{Hash: hash, Since: now.Add(-took), Took: took}, last: now}
	makeRoom(k.slow, slowest+1, slowFor, func(a, b *Key[K]) int { return cmp.Compare(a.Took, b.Took) })
}

// makeRoom removes keys that are to be forgotten and, if there are limit left, the least.
func makeRoom[K comparable](keys map[K]*Key[K], limit int, after time.Duration, compare func(a, b *Key[K]) int) {
	if len(keys) < limit {
		return
	}
	forget(keys, after)
	if len(keys) == limit {
		delete(keys, slices.MinFunc(slices.Collect(maps.Values(keys)), compare).Key)
	}
}

func forget[K comparable](keys map[K]*Key[K], after time.Duration) {
	before := time.Now().Add(-after)
	maps.DeleteFunc(keys, func(_ K, k *Key[K]) bool { return k.last.Before(before) })
}

// Failures returns how many keys fail, and the most failures of one in a row.
func (k *Keys[K]) Failures() (keys, inRow int) {
	if k.failing.Load() == 0 {
		return 0, 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	forget(k.fail, failedFor)
	k.failing.Store(int32(len(k.fail)))
	for _, bad := range k.fail {
		inRow = max(inRow, bad.Failed)
	}
	return len(k.fail), inRow
}

// Failing returns the first n keys whose last load has failed, those with the most failures in a row first.
func (k *Keys[K]) Failing(n int) []Key[K] {
	return k.list(&k.fail, n, failedFor, func(a, b *Key[K]) int { return cmp.Or(cmp.Compare(b.Failed, a.Failed), a.Since.Compare(b.Since)) })
}

// Slow returns the first n keys whose loads took longest, the slowest first.
func (k *Keys[K]) Slow(n int) []Key[K] {
	return k.list(&k.slow, n, slowFor, func(a, b *Key[K]) int { return cmp.Compare(b.Took, a.Took) })
}

func (k *Keys[K]) list(keys *map[K]*Key[K], n int, after time.Duration, compare func(a, b *Key[K]) int) []Key[K] {
	k.mu.Lock()
	defer k.mu.Unlock()
	forget(*keys, after)
	sorted := slices.SortedFunc(maps.Values(*keys), compare)
	first := make([]Key[K], 0, min(n, len(sorted)))
	for _, bad := range sorted[:cap(first)] {
		first = append(first, *bad)
	}
	return first
}
