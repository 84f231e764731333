// Package ttlcache uses all of ttlcache that can move.
package ttlcache

import (
	"time"

	"github.com/jellydator/ttlcache/v3"
)

type Sessions struct {
	c *ttlcache.Cache[string, string]
}

func New() *Sessions {
	c := ttlcache.New(
		ttlcache.WithTTL[string, string](20*time.Minute),
		ttlcache.WithDisableTouchOnHit[string, string](),
		ttlcache.WithCapacity[string, string](100_000),
	)
	go c.Start() // or nothing that expired is ever removed
	return &Sessions{c}
}

func (s *Sessions) LogIn(token, user string) {
	s.c.Set(token, user, ttlcache.DefaultTTL)
	s.c.Set(token, user, ttlcache.NoTTL)
	_ = s.c.Set(token, user, time.Hour)
}

func (s *Sessions) User(token string) (string, bool) {
	item := s.c.Get(token)
	if item == nil {
		return "", false
	}
	return item.Value(), true
}

func (s *Sessions) Known(token string) bool {
	if item := s.c.Get(token); item != nil {
		return true
	}
	return s.c.Has(token) || len(s.c.Keys()) == s.c.Len()
}

func (s *Sessions) LogOut(token string) (string, bool) {
	item, ok := s.c.GetAndDelete(token)
	if !ok {
		return "", false
	}
	s.c.Delete(token)
	s.c.DeleteAll()
	return item.Value(), true
}

func (s *Sessions) Close() { s.c.Stop() }
