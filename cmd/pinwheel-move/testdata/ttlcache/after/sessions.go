// Package ttlcache uses all of ttlcache that can move.
package ttlcache

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type Sessions struct {
	c *cache.Cache[string, string]
}

func New() *Sessions {
	c := cache.Must(cache.Options[string, string]{Limit: int(100_000), Expire: 20 * time.Minute})
	// or nothing that expired is ever removed
	return &Sessions{c}
}

func (s *Sessions) LogIn(token, user string) {
	s.c.Set(token, user)
	s.c.SetWithExpire(token, user, 0)
	s.c.SetWithExpire(token, user, time.Hour)
}

func (s *Sessions) User(token string) (string, bool) {
	item, found := s.c.Get(token)
	if !found {
		return "", false
	}
	return item, true
}

func (s *Sessions) Known(token string) bool {
	if _, found := s.c.Get(token); found {
		return true
	}
	return cacheContains(s.c, token) || len(cacheKeys(s.c)) == s.c.Len()
}

func (s *Sessions) LogOut(token string) (string, bool) {
	item, ok := s.c.GetAndDel(token)
	if !ok {
		return "", false
	}
	s.c.Del(token)
	s.c.Clear()
	return item, true
}

func (s *Sessions) Close() {}
