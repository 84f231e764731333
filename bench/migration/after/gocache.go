package after

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Logins counts the failed logins of users, for 15 minutes after the first.
type Logins struct {
	c *cache.Cache[string, *atomic.Int64]
}

func NewLogins(forgiven func(user string, failed int)) *Logins {
	return &Logins{cache.Must(cache.Options[string, *atomic.Int64]{
		Name:   "logins",
		Limit:  1_000_000,
		Expire: 15 * time.Minute,
		OnRemove: func(e cache.Event[string, *atomic.Int64]) {
			forgiven(e.Key, int(e.Value.Load()))
		},
	})}
}

// Failed counts in place: OnRemove would be told of each count that Compute replaces.
func (l *Logins) Failed(user string) int {
	n, _ := l.c.GetOrSet(user, new(atomic.Int64))
	return int(n.Add(1))
}

func (l *Logins) Blocked(user string) bool {
	n, ok := l.c.Get(user)
	return ok && n.Load() >= 3
}

func (l *Logins) Forgive(user string) { l.c.Del(user) }
