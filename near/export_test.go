package near

import "time"

// Sleep has the instance lose a time, as if its process had been stopped: no timer runs meanwhile. Nobody may use it.
func (c *Cache[K, V]) Sleep(d time.Duration) {
	l := &c.local.link
	l.mu.Lock() // for its timer
	defer l.mu.Unlock()
	l.start = l.start.Add(-d)
}

// LastViolation returns what the auditor has found last.
func (c *Cache[K, V]) LastViolation() (v struct {
	Hash                     uint64
	Loaded, Differed, Served time.Time
}) {
	if last := c.auditor.audits.last.Load(); last != nil {
		v.Hash, v.Loaded, v.Differed, v.Served = last.hash, last.loaded, last.differed, last.served
	}
	return v
}
