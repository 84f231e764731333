package after

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Sessions knows who is logged in, until 20 minutes after the last request.
type Sessions struct {
	c *cache.Cache[string, string]
}

func NewSessions(expired func(user string)) *Sessions {
	return &Sessions{cache.Must(cache.Options[string, string]{
		Name:  "sessions",
		Limit: 100_000,
		Idle:  20 * time.Minute, // Expire would end it 20 minutes after LogIn
		OnRemove: func(e cache.Event[string, string]) {
			if e.Cause == cache.Expired {
				expired(e.Value)
			}
		},
	})}
}

func (s *Sessions) LogIn(token, user string) { s.c.Set(token, user) }

func (s *Sessions) User(token string) (string, bool) { return s.c.Get(token) }

// LogOut returns the user that it logs out.
func (s *Sessions) LogOut(token string) (user string, ok bool) {
	return s.c.GetAndDel(token)
}

func (s *Sessions) Close() { s.c.Close(context.Background()) }
