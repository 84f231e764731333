package lincheck

import "time"

// A Subject is a cache under test, as functions. A function that the cache does not have is
// nil; Get and Set are required. Answers are those of the methods of package cache with
// these names.
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
	Refresh       func(key int, fetch func() (int64, error))

	// Detached says that the cache refreshes values: a fetch may be called when the key
	// has a value, and may outlive its Take.
	Detached bool

	Settle func() // waits until all writes have taken effect; nil if they do at once
}

// An Action is the result of the function of a Compute.
type Action uint8

// Numbered as in package cache.
const (
	Keep Action = iota
	Store
	Delete
)

// Promises are the parameters of the model.
type Promises struct {
	Evicts bool          // an entry may be gone at any moment, even at once
	Expire time.Duration // the TTL of values of Set, GetOrSet, Compute and Take; 0 means for ever
	Idle   time.Duration // an entry expires when Get did not find it for so long; 0 means never
	Grace  time.Duration // how long an entry may outlast its deadline by TTL

	// StandsIn says that a Take may return a value at any time past its deadline, until
	// the key is changed. For all else the value has expired.
	StandsIn bool
}

// Torn is what a Subject returns for a value that was never stored, such as one half old and
// half new. The model never accepts it.
const Torn int64 = -1 << 63
