// Package expirable uses all of expirable that can move.
package expirable

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

var cache = expirable.NewLRU[string, float64](500, nil, 5*time.Minute)

func New(size int, ttl time.Duration) *expirable.LRU[int, string] {
	return expirable.NewLRU[int, string](size, nil, ttl)
}

func Unlimited() *expirable.LRU[int, string] { return expirable.NewLRU[int, string](0, nil, 0) }

func Rate(pair string) (float64, bool) {
	cache.Add(pair, 1)
	if cache.Contains(pair) || cache.Remove(pair) {
		return cache.Peek(pair)
	}
	return cache.Get(pair)
}
