package main

import "container/list"

// An s3fifo is S3-FIFO as in its paper (Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues
// are All You Need for Cache Eviction", SOSP 2023, algorithm 1), for comparison with
// Adaptive. It is not safe for concurrent use.
type s3fifo struct {
	capacity    int
	small, main list.List // of *s3entry, oldest first
	ghost       list.List // of keys, oldest first, as many as main may have
	entries     map[uint64]*s3entry
	ghosts      map[uint64]*list.Element
}

type s3entry struct {
	key  uint64
	uses int // up to 3
}

func openS3FIFO(room capacity) (access, func()) {
	c := &s3fifo{capacity: room.entries, entries: map[uint64]*s3entry{}, ghosts: map[uint64]*list.Element{}}
	return c.access, func() {}
}

func (c *s3fifo) access(key uint64, _ uint32) (hit bool) {
	if e, ok := c.entries[key]; ok {
		e.uses = min(e.uses+1, 3)
		return true
	}
	for len(c.entries) >= c.capacity {
		c.evict()
	}
	e := &s3entry{key: key}
	c.entries[key] = e
	if g, ok := c.ghosts[key]; ok {
		c.forget(g)
		c.main.PushBack(e)
	} else {
		c.small.PushBack(e)
	}
	return false
}

// evict removes one entry, from small if that has a tenth of the capacity.
func (c *s3fifo) evict() {
	if c.small.Len() > 0 && (c.small.Len() >= max(c.capacity/10, 1) || c.main.Len() == 0) {
		c.evictSmall()
	} else {
		c.evictMain()
	}
}

// evictSmall moves entries used more than once to main, and makes the first other one a
// ghost.
func (c *s3fifo) evictSmall() {
	for c.small.Len() > 0 {
		e := c.small.Remove(c.small.Front()).(*s3entry)
		if e.uses > 1 {
			e.uses = 0
			c.main.PushBack(e)
			continue
		}
		delete(c.entries, e.key)
		c.ghosts[e.key] = c.ghost.PushBack(e.key)
		if c.ghost.Len() > c.capacity-c.capacity/10 {
			c.forget(c.ghost.Front())
		}
		return
	}
}

// evictMain evicts the first unused entry. Used ones stay another turn for each use.
func (c *s3fifo) evictMain() {
	for c.main.Len() > 0 {
		e := c.main.Remove(c.main.Front()).(*s3entry)
		if e.uses == 0 {
			delete(c.entries, e.key)
			return
		}
		e.uses--
		c.main.PushBack(e)
	}
}

func (c *s3fifo) forget(g *list.Element) { delete(c.ghosts, c.ghost.Remove(g).(uint64)) }
