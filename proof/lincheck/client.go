package lincheck

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A client is a goroutine that uses the cache and records its operations.
type client struct {
	*round
	id    int
	rand  *rand.Rand
	ops   []Op
	made  int64 // number of values and loads so far
	meets int64
}

// run does about n operations, spread over the phases.
func (c *client) run(phases []phase, n int) {
	for _, p := range phases {
		p.way(c, p.mixes[c.id%len(p.mixes)], max(1, n/len(phases)))
	}
}

// do executes an operation and records it.
func (c *client) do(op Op) {
	switch op.Kind {
	case Get, Peek:
		op = c.read(op)
	case Take:
		c.take(op)
		return
	case TakeMany:
		c.takeMany(op)
		return
	case Refresh:
		c.refresh(op)
		return
	case Compute:
		op = c.compute(op)
	case DelFunc:
		op = c.delFunc(op)
	case SetWithExpire, Touch:
		op.TTL = c.ttl()
		op = c.write(op)
	default:
		op = c.write(op)
	}
	c.ops = append(c.ops, op)
}

func (c *client) read(op Op) Op {
	f := c.subject.Get
	if op.Kind == Peek {
		f = c.subject.Peek
	}
	op.Call = c.now()
	op.Got, op.Found = f(op.Key)
	op.Return = c.now()
	return op
}

// readALot reads a key while more returns true. It records only reads whose answer differs
// from the last one, and reads the clock, which takes longer than a cache read, for these
// and a few more. So a recorded call is somewhat earlier than the real one, which excuses
// only answers that were wrong for as short a time.
func (c *client) readALot(key int, more func(i int) bool) {
	f := c.subject.Get
	op := Op{Kind: Get, Client: c.id, Key: key}
	if c.idle > 0 && c.subject.Peek != nil { // every hit of Get moves a deadline
		f, op.Kind = c.subject.Peek, Peek
	}
	op = c.read(op)
	c.ops = append(c.ops, op)
	op.Call = op.Return
	for i := 0; more(i); i++ {
		got, found := f(key)
		if got != op.Got || found != op.Found || c.idle > 0 && op.Kind == Get {
			op.Return = c.now()
			op.Got, op.Found = got, found
			c.ops = append(c.ops, op)
			op.Call = op.Return
		} else if i%4 == 0 {
			op.Call = c.now()
		}
	}
	c.ops = append(c.ops, c.read(op))
}

// write executes an operation that takes no function.
func (c *client) write(op Op) Op {
	switch op.Kind {
	case Set, SetWithExpire, GetOrSet:
		op.Value = c.value()
	}
	op.Call = c.now()
	switch op.Kind {
	case Set:
		c.subject.Set(op.Key, op.Value)
	case SetWithExpire:
		c.subject.SetWithExpire(op.Key, op.Value, op.TTL)
	case Del:
		op.Found = c.subject.Del(op.Key)
	case Touch:
		op.Found = c.subject.Touch(op.Key, op.TTL)
	case GetOrSet:
		op.Got, op.Found = c.subject.GetOrSet(op.Key, op.Value)
	case Clear:
		c.subject.Clear()
	}
	op.Return = c.now()
	return op
}

// compute increments, keeps or deletes the value.
func (c *client) compute(op Op) Op {
	dice, fresh := c.rand.IntN(6), c.value()
	op.Call = c.now()
	op.Got, op.Found = c.subject.Compute(op.Key, func(old int64, found bool) (int64, Action) {
		c.pause()
		op.Old, op.HadOld, op.Does = old, found, Store
		switch {
		case dice == 0:
			op.Does = Delete
		case dice == 1:
			op.Does = Keep
		case found:
			op.Value = old + 1
		default:
			op.Value = fresh
		}
		return op.Value, op.Does
	})
	op.Return = c.now()
	return op
}

// delFunc removes the values with a certain lowest bit, and records that as two operations.
func (c *client) delFunc(op Op) Op {
	op.Picks = c.rand.Int64N(2)
	op.Call = c.now()
	c.subject.DelFunc(op.picks) // loads call it later, too
	op.Return = c.now()
	filter := op
	filter.Kind = Filter
	c.ops = append(c.ops, filter)
	return op
}

// A failure is the error of a fetch that fails. The model has it as the value.
type failure int64

func (f failure) Error() string { return fmt.Sprintf("fetch failed: %d", int64(f)) }

// got returns the result of a Take as the model has it: Torn for an error that is not ours.
func got(value int64, err error) int64 {
	var f failure
	switch {
	case err == nil:
		return value
	case errors.As(err, &f):
		return int64(f)
	}
	return Torn
}

// take records a Take as one operation, or if it fetched as two: its result is that of the
// fetch.
func (c *client) take(op Op) {
	if c.subject.Detached {
		c.takeDetached(op)
		return
	}
	op.Call = c.now()
	var ends []Op
	value, err := c.subject.Take(op.Key, func() (int64, error) {
		end, value, err := c.fetch(op)
		ends = append(ends, end)
		return value, err
	})
	op.Return = c.now()
	op.Got = got(value, err)
	if len(ends) == 0 {
		c.ops = append(c.ops, op)
	}
	for _, end := range ends { // of two, which is wrong, the model refuses one, as the result is not its own
		end.Got, end.Return = op.Got, op.Return
		c.ops = append(c.ops, end)
	}
}

// refresh records the load of a Refresh, if it has begun one.
func (c *client) refresh(op Op) {
	op.Call, op.Anew = c.now(), true
	if c.subject.Detached {
		began := op // fetch may read it later
		c.subject.Refresh(op.Key, func() (int64, error) { return c.aside.fetch(began) })
		return
	}
	var ends []Op
	c.subject.Refresh(op.Key, func() (int64, error) {
		end, value, err := c.fetch(op)
		ends = append(ends, end)
		return value, err
	})
	now := c.now()
	for _, end := range ends {
		end.Return = now
		c.ops = append(c.ops, end)
	}
}

// fetch is called by a Take that began at the call of op. It records that
// the load begins and returns the operation that ends it.
func (c *client) fetch(op Op) (ends Op, value int64, err error) {
	begins := op
	begins.Kind, begins.Return = TakeBegins, c.now()
	value = c.value()
	begins.Load = value
	c.pause()
	if begins.Value = value; c.rand.IntN(8) == 0 {
		begins.Value, value, err = -value, 0, failure(-value)
	}
	c.pause()
	begins.Got = begins.Value
	c.ops = append(c.ops, begins)
	ends = begins
	ends.Kind, ends.Call = TakeEnds, c.now()
	return ends, value, err
}

// value returns a unique value; those after it, which increments make of it, are unique
// too. Every other one is odd.
func (c *client) value() int64 {
	c.made++
	return c.base + (int64(c.id)<<12+c.made)<<10 + c.made&1
}

func (c *client) ttl() time.Duration {
	if len(c.TTLs) == 0 {
		return -time.Duration(c.rand.IntN(4) / 3)
	}
	return c.TTLs[c.rand.IntN(len(c.TTLs))]
}
