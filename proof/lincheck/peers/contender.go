package main

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// A contender is a cache to be checked.
type contender struct {
	name   string
	module string // whose version is printed

	// open returns a new cache with its operations, and a function that ends it; or nil,
	// if the cache does not support the config.
	open func(c config) (*lincheck.Subject, func())

	retries   bool // as in lincheck.Promises
	refreshes bool // it supports config.refresh

	// expiry replaces the checks with TTLs for a cache whose TTLs are too coarse for them.
	expiry func(seed uint64) *lincheck.Survey
}

// A config is how a cache is made.
type config struct {
	limit int           // entries; roomy means none
	ttl   time.Duration // of writes without their own; 0 is none
	loads bool          // Take will be used

	refresh bool // values are due for a refresh as soon as they are stored
}

// roomy is a limit that no scenario reaches.
const roomy = 1000

// The expirable cache is last, as its goroutine never ends, and works all the time when the
// TTL is short.
var contenders = []contender{
	{name: "pinwheel", module: "github.com/pinwheel-cache/pinwheel", open: openPinwheel, refreshes: true},
	{name: "naive map", open: openNaive},
	{name: "go-zero", module: "github.com/zeromicro/go-zero", open: openGoZero, expiry: goZeroExpiry},
	{name: "otter", module: "github.com/maypok86/otter/v2", open: openOtter, retries: true, refreshes: true},
	{name: "sturdyc", module: "github.com/viccon/sturdyc", open: openSturdyc, refreshes: true},
	{name: "theine", module: "github.com/Yiling-J/theine-go", open: openTheine},
	{name: "ttlcache", module: "github.com/jellydator/ttlcache/v3", open: openTTLCache},
	{name: "ristretto", module: "github.com/dgraph-io/ristretto/v2", open: openRistretto(false)},
	{name: "ristretto, Wait", module: "github.com/dgraph-io/ristretto/v2", open: openRistretto(true)},
	{name: "golang-lru", module: "github.com/hashicorp/golang-lru/v2", open: openLRU},
	{name: "golang-lru, expirable", module: "github.com/hashicorp/golang-lru/v2", open: openExpirable},
}

// A wide value has four equal parts. A reader of a value that is being written sees parts
// that differ.
type wide struct {
	parts [4]int64
	ttl   time.Duration // for caches that ask the value; 0 means never
}

func widen(value int64, ttl time.Duration) wide {
	return wide{[4]int64{value, value, value, value}, ttl}
}

func (w wide) narrow() int64 {
	for _, part := range w.parts {
		if part != w.parts[0] {
			return lincheck.Torn
		}
	}
	return w.parts[0]
}

func narrowed(w wide, ok bool) (int64, bool) { return w.narrow(), ok }

func widenAll(values map[int]int64, ttl time.Duration) map[int]wide {
	wide := make(map[int]wide, len(values))
	for key, value := range values {
		wide[key] = widen(value, ttl)
	}
	return wide
}

func narrowAll(wide map[int]wide) map[int]int64 {
	values := make(map[int]int64, len(wide))
	for key, w := range wide {
		values[key] = w.narrow()
	}
	return values
}

// wait polls until a condition holds of which the cache notifies nobody.
func wait(so func() bool) {
	for !so() {
		time.Sleep(10 * time.Microsecond)
	}
}
