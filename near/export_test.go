package near

import "time"

// Sleep has the instance lose a time, as if its process had been stopped: no timer runs meanwhile. Nobody may use it.
func (c *Cache[K, V]) Sleep(d time.Duration) {
	l := &c.local.link
	l.mu.Lock() // for its timer
	defer l.mu.Unlock()
	l.start = l.start.Add(-d)
}
