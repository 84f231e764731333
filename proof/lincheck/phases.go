package lincheck

import (
	"runtime"
	"time"
)

// The kinds of phases. Some arrange what is rare by chance.

// apart lets every client choose operations independently.
func (c *client) apart(m mix, n int) {
	for before := len(c.ops); len(c.ops)-before < n; {
		c.pause()
		kind, many := m.pick(c.rand)
		key := c.keys[c.rand.IntN(len(c.keys))]
		if many {
			most := c.rand.IntN(burst)
			c.readALot(key, func(i int) bool { return i < most })
		} else {
			c.do(Op{Kind: kind, Client: c.id, Key: key})
		}
	}
}

// burst is the most reads in a row: enough to restore the bias of a lock that counts them.
const burst = 100

// together lets all clients begin each operation at once, on the same key, to hit the few
// nanoseconds between two steps of an operation.
func (c *client) together(m mix, n int) {
	for step := range n {
		kind, _ := m.pick(c.rand)
		c.meet()
		c.do(Op{Kind: kind, Client: c.id, Key: c.keys[step%len(c.keys)]})
	}
}

// watch lets the first client write now and then, while all others only read: so often that
// the lock is biased to readers, and that some of them are reading at any moment.
func (c *client) watch(m mix, n int) {
	c.meet()
	key, over := c.keys[0], c.watched.Load()+1
	c.meet()
	if c.id != 0 {
		c.readALot(key, func(i int) bool {
			if i%256 == 255 {
				runtime.Gosched()
			}
			return c.watched.Load() < over
		})
		return
	}
	for range 2 * n {
		c.spin(5000)
		if kind, many := m.pick(c.rand); !many {
			c.do(Op{Kind: kind, Client: c.id, Key: key})
		}
	}
	c.watched.Add(1)
}

// expire lets an entry expire while all clients use it: within nanoseconds some find it,
// some find it gone, and some extend it.
func (c *client) expire(_ mix, n int) {
	m := atDeadline.without(c.subject)
	for step := range n {
		op := Op{Client: c.id, Key: c.keys[step%len(c.keys)]}
		c.meet()
		if c.id == 0 {
			c.mortal(op.Key)
		}
		c.meet()
		op.Kind, _ = m.pick(c.rand)
		at := c.due.Load() - c.rand.Int64N(60)
		for at-c.now() > int64(5*time.Microsecond) {
			runtime.Gosched()
		}
		for c.now() < at {
		}
		c.do(op)
		op.Kind, _ = m.pick(c.rand)
		c.do(op)
	}
}

// mortal stores a value that expires soon, and tells the others when to be there.
func (c *client) mortal(key int) {
	op := Op{Kind: Set, Client: c.id, Key: key}
	ttl := c.expires
	if c.subject.SetWithExpire != nil {
		ttl = 100 * time.Microsecond
		if c.idle > 0 && c.rand.IntN(2) == 0 {
			ttl = 4 * c.idle // it ends by Idle, which reads postpone
		}
		op.Kind, op.TTL = SetWithExpire, ttl
	}
	op = c.write(op)
	c.ops = append(c.ops, op)
	if c.idle > 0 {
		ttl = min(ttl, c.idle)
	}
	// The deadline counts from a moment within op, and clients take some time to
	// arrive: at random they are too early, too late, or just in time.
	c.due.Store(op.Call + int64(ttl) + c.rand.Int64N(600) - 400)
}

// pause lets others run now and then, or some time pass.
func (c *client) pause() {
	switch c.rand.IntN(8) {
	case 0, 1:
		runtime.Gosched()
	case 2, 3:
		c.spin(200) // to meet others at other moments
	case 4:
		if c.Nap > 0 {
			time.Sleep(time.Duration(c.rand.Int64N(int64(c.Nap))))
		}
	}
}

func (c *client) spin(most int) {
	for range c.rand.IntN(most) {
		runtime.KeepAlive(c)
	}
}

// meet waits until all clients have arrived. Those with a processor then continue within
// some ten nanoseconds of each other.
func (c *client) meet() {
	c.meets++
	c.arrived.Add(1)
	for i := 0; c.arrived.Load() < c.meets*c.clients; i++ {
		if i%64 == 63 {
			runtime.Gosched()
		}
	}
	if c.rand.IntN(2) == 0 {
		c.spin(100)
	}
}
