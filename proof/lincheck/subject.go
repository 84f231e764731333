package lincheck

import "time"

// A Subject is a cache under test, as functions. One that the cache does not have is
// nil and left out; there must be Get and Set. The answers are those of the methods of
// package cache that have these names. Remove and Renew are for caches whose Del and
// Touch do not answer.
type Subject struct {
	Get, Peek     func(key int) (value int64, ok bool)
	Set           func(key int, value int64)
	SetWithExpire func(key int, value int64, ttl time.Duration)
	Del           func(key int) bool
	Touch         func(key int, ttl time.Duration) bool
	GetOrSet      func(key int, value int64) (actual int64, loaded bool)
	Take          func(key int, fetch func() (int64, error)) (int64, error)
	Compute       func(key int, f func(old int64, found bool) (int64, Action)) (int64, bool)
	Clear         func()
	DelFunc       func(del func(value int64) bool)
	TakeMany      func(keys []int, fetch func(missing []int) (map[int]int64, error)) (map[int]int64, error)

	Remove func(key int)
	Renew  func(key int, ttl time.Duration)

	// Detached says that a fetch may be called when the key has a value, and go on when its
	// Take has returned: the cache refreshes values.
	Detached bool

	NoErrors bool // a Take could not tell of a fetch that failed, so none does

	Settle func() // waits until all writes have taken effect, where they may do so late
}

// An Action is what the function of a Compute wants done.
type Action uint8

// In the order of package cache.
const (
	Keep Action = iota
	Store
	Delete
)

// Promises are what the model of a cache depends on.
type Promises struct {
	Evicts bool          // an entry may be gone at any moment, and even at once
	Expire time.Duration // the TTL of what Set, GetOrSet, Compute and Take store; 0 is for ever
	Idle   time.Duration // an entry that Get did not find for so long is gone; 0 is for ever
	Grace  time.Duration // how long after its deadline by TTL an entry may still be there

	// A Take may answer with a value past its deadline, however long past, until the key is
	// changed. To all else the value has expired.
	StandsIn bool

	// A Take whose load was overtaken by a change may look again, and fetch again, and
	// others need not wait for such a load to end.
	Retries bool
}

// Torn is what a Subject returns for a value that was never stored, such as one
// that is half old and half new. The model accepts it nowhere.
const Torn int64 = -1 << 63
