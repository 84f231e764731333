package before

import (
	"context"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// Sessions knows who is logged in, until 20 minutes after the last request.
type Sessions struct {
	c *ttlcache.Cache[string, string]
}

func NewSessions(expired func(user string)) *Sessions {
	c := ttlcache.New(
		ttlcache.WithTTL[string, string](20*time.Minute),
		ttlcache.WithCapacity[string, string](100_000))
	c.OnEviction(func(_ context.Context, why ttlcache.EvictionReason, i *ttlcache.Item[string, string]) {
		if why == ttlcache.EvictionReasonExpired {
			expired(i.Value())
		}
	})
	go c.Start() // or nothing that expired is ever removed
	return &Sessions{c}
}

func (s *Sessions) LogIn(token, user string) { s.c.Set(token, user, ttlcache.DefaultTTL) }

func (s *Sessions) User(token string) (string, bool) {
	i := s.c.Get(token)
	if i == nil {
		return "", false
	}
	return i.Value(), true
}

// LogOut returns the user that it logs out.
func (s *Sessions) LogOut(token string) (string, bool) {
	i, ok := s.c.GetAndDelete(token)
	if !ok {
		return "", false
	}
	return i.Value(), true
}

func (s *Sessions) Close() { s.c.Stop() }
