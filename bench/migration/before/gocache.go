package before

import (
	"time"

	gocache "github.com/patrickmn/go-cache"
)

// Logins counts the failed logins of users, for 15 minutes after the first.
type Logins struct {
	c *gocache.Cache
}

func NewLogins(forgiven func(user string, failed int)) *Logins {
	c := gocache.New(15*time.Minute, time.Minute)
	c.OnEvicted(func(user string, failed any) { forgiven(user, failed.(int)) })
	return &Logins{c}
}

func (l *Logins) Failed(user string) int {
	for {
		if l.c.Add(user, 1, gocache.DefaultExpiration) == nil {
			return 1
		}
		// An error says that it expired in between.
		if n, err := l.c.IncrementInt(user, 1); err == nil {
			return n
		}
	}
}

func (l *Logins) Blocked(user string) bool {
	n, ok := l.c.Get(user)
	return ok && n.(int) >= 3
}

func (l *Logins) Forgive(user string) { l.c.Delete(user) }
