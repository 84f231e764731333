// Package gocache uses all of go-cache that can move.
package gocache

import (
	"time"

	"github.com/patrickmn/go-cache"
)

// Tokens are shared by two kinds of callers.
type Tokens struct {
	c   *cache.Cache
	ttl time.Duration
}

func NewTokens(ttl time.Duration) *Tokens {
	return &Tokens{c: cache.New(ttl, 10*time.Minute), ttl: ttl}
}

var fixed = cache.New(5*time.Minute, 2*5*time.Minute)

var forever = cache.New(cache.NoExpiration, 0)

func (t *Tokens) Put(key string, token any) {
	t.c.Set(key, token, cache.DefaultExpiration)
	t.c.Set(key, token, cache.NoExpiration)
	t.c.Set(key, token, time.Hour)
	t.c.Set(key, token, t.ttl) // 0 and -1 mean what they mean to go-cache
	t.c.SetDefault(key, token)
}

func (t *Tokens) Get(key string) (string, bool) {
	v, found := t.c.Get(key)
	if !found {
		return "", false
	}
	return v.(string), true
}

func (t *Tokens) Once(key string) error {
	if err := t.c.Add(key, "once", t.ttl); err != nil {
		return err
	}
	return t.c.Replace(key, "twice", time.Minute)
}

func (t *Tokens) Count(key string) (int64, error) {
	if n, err := t.c.IncrementInt64(key, 1); err == nil {
		return n, nil
	}
	return t.c.DecrementInt64(key, 2)
}

func (t *Tokens) Until(key string) time.Time {
	_, at, _ := t.c.GetWithExpiration(key)
	return at
}

func (t *Tokens) Drop(key string) int {
	t.c.Delete(key)
	t.c.DeleteExpired()
	defer t.c.Flush()
	ttl := cache.DefaultExpiration
	forever.Set(key, fixed.ItemCount(), time.Duration(ttl))
	return t.c.ItemCount()
}
