// Package gocache uses all of go-cache that can move.
package gocache

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Tokens are shared by two kinds of callers.
type Tokens struct {
	c   *cache.Cache[string, any]
	ttl time.Duration
}

func NewTokens(ttl time.Duration) *Tokens {
	return &Tokens{c: cache.Must(cache.Options[string, any]{Expire: max(ttl, 0)}), ttl: ttl}
}

var fixed = cache.Must(cache.Options[string, any]{Expire: 5 * time.Minute})

var forever = cache.Must(cache.Options[string, any]{})

func (t *Tokens) Put(key string, token any) {
	t.c.Set(key, token)
	t.c.SetWithExpire(key, token, 0)
	t.c.SetWithExpire(key, token, time.Hour)
	cacheSetFor(t.c, key, token, t.ttl) // 0 and -1 mean what they mean to go-cache
	t.c.Set(key, token)
}

func (t *Tokens) Get(key string) (string, bool) {
	v, found := t.c.Get(key)
	if !found {
		return "", false
	}
	return v.(string), true
}

func (t *Tokens) Once(key string) error {
	if err := cacheAdd(t.c, key, "once", t.ttl); err != nil {
		return err
	}
	return cacheReplace(t.c, key, "twice", time.Minute)
}

func (t *Tokens) Count(key string) (int64, error) {
	if n, err := cacheIncrement[int64](t.c, key, 1); err == nil {
		return n, nil
	}
	return cacheDecrement[int64](t.c, key, 2)
}

func (t *Tokens) Until(key string) time.Time {
	_, at, _ := cacheGetWithExpiration(t.c, key)
	return at
}

func (t *Tokens) Drop(key string) int {
	t.c.Del(key)
	t.c.DelExpired()
	defer t.c.Clear()
	ttl := time.Duration(0)
	cacheSetFor(forever, key, fixed.Len(), time.Duration(ttl))
	return t.c.Len()
}
