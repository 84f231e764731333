// Package expirable uses all of expirable that can move.
package expirable

import (
	pinwheel "github.com/pinwheel-cache/pinwheel/cache"
	"time"
)

var cache = pinwheel.Must(pinwheel.Options[string, float64]{Limit: 500, Expire: 5 * time.Minute})

func New(size int, ttl time.Duration) *pinwheel.Cache[int, string] {
	return pinwheel.Must(pinwheel.Options[int, string]{Limit: max(size, 0), Expire: max(ttl, 0)})
}

func Unlimited() *pinwheel.Cache[int, string] { return pinwheel.Must(pinwheel.Options[int, string]{}) }

func Rate(pair string) (float64, bool) {
	cache.Set(pair, 1)
	if cacheContains(cache, pair) || cache.Del(pair) {
		return cache.Peek(pair)
	}
	return cache.Get(pair)
}
