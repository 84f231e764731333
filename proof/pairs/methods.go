package pairs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A method is a method of the cache.
type method struct {
	name  string
	share int // how often it is drawn
	do    func(c *call)
}

// methods are all methods of a cache: TestEveryMethodIsAMethod.
var methods = []method{
	{"Get", 2, func(c *call) {
		c.ledger.get(1)
		c.atOnce()
		c.found(c.cache.Get(c.key))
	}},
	{"Peek", 1, func(c *call) {
		c.atOnce()
		c.found(c.cache.Peek(c.key))
	}},
	{"Set", 4, func(c *call) {
		defer c.ledger.change(c.key)()
		c.storesAtOnce()
		c.cache.Set(c.key, c.value(c.key))
	}},
	{"SetWithExpire", 2, func(c *call) {
		defer c.ledger.change(c.key)()
		c.storesAtOnce()
		c.cache.SetWithExpire(c.key, c.value(c.key), c.ttl())
	}},
	{"Touch", 1, func(c *call) {
		defer c.ledger.change(c.key)() // it removes, with a negative TTL
		c.removesAtOnce()
		c.cache.Touch(c.key, c.ttl())
	}},
	{"GetOrSet", 1, func(c *call) {
		c.ledger.get(1)
		defer c.ledger.change(c.key)()
		c.storesAtOnce()
		v, _ := c.cache.GetOrSet(c.key, c.value(c.key))
		c.right(c.key, v)
	}},
	{"GetOrSetWithExpire", 1, func(c *call) {
		c.ledger.get(1)
		defer c.ledger.change(c.key)()
		c.storesAtOnce()
		v, _ := c.cache.GetOrSetWithExpire(c.key, c.value(c.key), c.ttl())
		c.right(c.key, v)
	}},
	{"Swap", 1, func(c *call) {
		defer c.ledger.change(c.key)()
		c.storesAtOnce()
		c.found(c.cache.Swap(c.key, c.value(c.key)))
	}},
	{"Compute", 2, func(c *call) {
		defer c.ledger.change(c.key)()
		c.found(c.cache.Compute(c.key, c.compute))
	}},
	{"ComputeWithExpire", 1, func(c *call) {
		defer c.ledger.change(c.key)()
		c.found(c.cache.ComputeWithExpire(c.key, c.ttl(), c.compute))
	}},
	{"ComputeEntry", 1, func(c *call) {
		defer c.ledger.change(c.key)()
		e, ok := c.cache.ComputeEntry(c.key, c.ttl(), c.compute)
		c.found(e.Value, ok)
	}},
	{"Take", 4, func(c *call) {
		defer c.ledger.take(c.key)()
		c.ledger.get(1)
		if c.options.Timeout > 0 {
			c.until = c.began.Add(2 * c.options.Timeout) // behind a load of others, and for a permit
		}
		c.took(c.cache.Take(c.key, func() (value, error) {
			c.until = time.Time{} // it runs here, and Take waits for it
			values, err := c.fetch(context.Background(), nil, c.key)
			return values[c.key], err
		}))
	}},
	{"TakeCtx", 6, func(c *call) {
		c.take(c.key)(func(ctx context.Context) {
			c.took(c.cache.TakeCtx(ctx, c.key, func(ctx context.Context) (value, error) {
				values, err := c.fetch(ctx, nil, c.key)
				return values[c.key], err
			}))
		})
	}},
	{"TakeWith", 4, func(c *call) {
		c.take(c.key)(func(ctx context.Context) { c.took(c.cache.TakeWith(ctx, c.key, c.fetchWith)) })
	}},
	{"TakeMissed", 2, func(c *call) {
		c.take()(func(ctx context.Context) { c.took(c.cache.TakeMissed(ctx, c.key, c.fetchWith)) })
	}},
	{"TakeMany", 6, func(c *call) {
		c.takeMany(func(ctx context.Context, wanted []int) (map[int]value, error) {
			return c.cache.TakeMany(ctx, wanted, func(ctx context.Context, missing []int) (map[int]value, error) {
				return c.fetch(ctx, nil, missing...)
			})
		})
	}},
	{"TakeManyWith", 4, func(c *call) {
		c.takeMany(func(ctx context.Context, wanted []int) (map[int]value, error) {
			return c.cache.TakeManyWith(ctx, wanted, func(ctx context.Context, told map[int]*cache.Load[value]) (map[int]value, error) {
				return c.fetch(ctx, told, slices.Sorted(maps.Keys(told))...)
			})
		})
	}},
	{"TakeEntry", 6, func(c *call) {
		how := c.how()
		counted := 1
		if how.Reload {
			counted = 0
		}
		c.load(counted, c.key)(func(ctx context.Context) {
			c.bounds(how)
			e, err := c.cache.TakeEntry(ctx, c.key, how, c.fetchWith)
			if err == nil && e.TTL < 0 && (how.NoGrace || c.options.Grace == 0) {
				c.failf("TakeEntry, %+v, returns %+v in grace", how, e)
			}
			c.took(e.Value, err)
		})
	}},
	{"Fetch", 4, func(c *call) {
		c.take(c.key)(func(ctx context.Context) { c.took(c.cache.Fetch(c.loading(ctx), c.key)) })
	}},
	{"FetchMany", 4, func(c *call) {
		c.takeMany(func(ctx context.Context, wanted []int) (map[int]value, error) {
			return c.cache.FetchMany(c.loading(ctx), wanted...)
		})
	}},
	{"Refresh", 4, func(c *call) {
		wanted := c.wanted()
		c.load(0, wanted...)(func(ctx context.Context) {
			if err := c.cache.Refresh(c.loading(ctx), wanted...); err != nil {
				c.failed(err)
			}
		})
	}},
	{"Del", 2, func(c *call) {
		defer c.ledger.change(c.key)()
		c.removesAtOnce()
		c.cache.Del(c.key)
	}},
	{"GetAndDel", 1, func(c *call) {
		defer c.ledger.change(c.key)()
		c.removesAtOnce()
		c.found(c.cache.GetAndDel(c.key))
	}},
	{"Clear", 1, func(c *call) {
		defer c.ledger.change(allKeys...)()
		c.removesAtOnce()
		c.cache.Clear()
	}},
	{"Expire", 2, func(c *call) {
		defer c.ledger.change(c.key)()
		c.removesAtOnce()
		c.cache.Expire(c.key)
	}},
	{"ExpireAll", 1, func(c *call) {
		defer c.ledger.change(allKeys...)()
		c.removesAtOnce()
		c.cache.ExpireAll()
	}},
	{"All", 2, func(c *call) { c.cache.All()(c.yield) }},
	{"Entries", 1, func(c *call) {
		c.cache.Entries()(func(e cache.Entry[int, value]) bool { return c.yield(e.Key, e.Value) })
	}},
	{"Entry", 1, func(c *call) {
		c.atOnce()
		e, ok := c.cache.Entry(c.key)
		inGrace := e.TTL < 0
		if inGrace && (ok || c.options.Grace == 0) {
			c.failf("Entry is %+v, %t", e, ok)
		}
		c.found(e.Value, ok || inGrace)
	}},
	{"TTL", 1, func(c *call) {
		c.atOnce()
		if left, ok := c.cache.TTL(c.key); left < 0 || ok != (left > 0) {
			c.failf("TTL is %v, %t", left, ok)
		}
	}},
	{"Len", 1, func(c *call) {
		c.atOnce()
		c.bounded(c.cache.Len())
	}},
	{"Resize", 1, func(c *call) {
		c.removesAtOnce()
		c.resized.Store(true)
		_ = c.cache.Resize(one(c.dice, 0, 1, 3, 1000))
	}},
	{"ResizeWeight", 1, func(c *call) {
		c.removesAtOnce()
		c.resized.Store(true)
		_ = c.cache.ResizeWeight(one[uint64](c.dice, 1, 4, 30))
	}},
	{"Stats", 1, func(c *call) {
		if c.options.Amend == nil {
			c.atOnce()
		}
		c.counted()
	}},
	{"HotKeys", 1, func(c *call) {
		c.atOnce()
		c.cache.HotKeys()
	}},
	{"DelExpired", 1, func(c *call) {
		c.removesAtOnce()
		c.cache.DelExpired()
	}},
	{"DelFunc", 3, func(c *call) {
		defer c.ledger.change(allKeys...)()
		c.cache.DelFunc(c.del)
	}},
	{"Closed", 1, func(c *call) {
		c.atOnce()
		c.cache.Closed()
	}},
	{"Wait", 1, func(c *call) {
		c.context(c.toWait(), func(ctx context.Context, end time.Time) {
			c.until = end
			_ = c.cache.Wait(ctx)
		})
	}},
	{"Close", 1, func(c *call) {
		if c.depth == 0 && c.chance(70) {
			return // a closed cache shows little
		}
		c.context(c.toClose(), func(ctx context.Context, end time.Time) {
			defer c.ledger.change(allKeys...)()
			c.ledger.close()
			if c.options.OnRemoveSync == nil { // else it makes all its calls
				c.until = end
			}
			_ = c.cache.Close(ctx)
		})
	}},
	{"Save", 1, func(c *call) {
		var b bytes.Buffer
		if c.cache.Save(&b, c.encode) == nil {
			c.saved.Store(&b)
		}
	}},
	{"Restore", 2, func(c *call) {
		_, _ = c.cache.Restore(bytes.NewReader(c.saved.Load().Bytes()), c.decode)
	}},
	{"SaveFile", 1, func(c *call) {
		c.context(c.toSave(), func(ctx context.Context, end time.Time) {
			c.until = end
			_ = c.cache.SaveFile(ctx, c.file(), c.encode)
		})
	}},
	{"RestoreFile", 1, func(c *call) { _, _ = c.cache.RestoreFile(c.file(), c.decode) }},
	{"Record", 1, func(c *call) {
		c.context(endingContext, func(ctx context.Context, end time.Time) {
			c.until = end
			_ = c.cache.Record(ctx, io.Discard, 1+c.IntN(2))
		})
	}},
}

// drawMethod draws a method, by the shares of all.
func drawMethod(d dice) method {
	n := 0
	for _, m := range methods {
		n += m.share
	}
	n = d.IntN(n)
	for _, m := range methods {
		if n -= m.share; n < 0 {
			return m
		}
	}
	panic("the shares of the methods have another sum")
}

// ttl draws one that is negative, zero, or short.
func (c *call) ttl() time.Duration { return one(c.dice, -1, 0, c.duration(), c.duration()) }

// file returns the name of one of two files of the round.
func (c *call) file() string {
	return filepath.Join(c.folder, fmt.Sprintf("%x-%d", c.round.dice.place, c.IntN(2)))
}

// take returns a function that calls a Take with a context. counted are the keys that must
// be counted as gets.
func (c *call) take(counted ...int) func(do func(ctx context.Context)) {
	return c.load(len(counted), append(slices.Clone(counted), c.key)...)
}

// load is take of keys of which so many must be counted.
func (c *call) load(counted int, wanted ...int) func(do func(ctx context.Context)) {
	return func(do func(ctx context.Context)) {
		c.context(c.toTake(wanted...), func(ctx context.Context, end time.Time) {
			defer c.ledger.take(wanted...)()
			c.until = end
			if last := c.began.Add(c.options.Timeout); c.options.Timeout > 0 && (end.IsZero() || end.After(last)) {
				c.until = last
			}
			if ctx == nil {
				c.ledger.maybeGet(counted)
			} else {
				c.ledger.get(counted)
			}
			do(ctx)
		})
	}
}

// how draws what a TakeEntry wants.
func (c *call) how() cache.Call {
	how := cache.Call{
		Patience: one(c.dice, -1, 0, 0, 5*ms, 50*ms),
		Timeout:  one(c.dice, 0, 0, 5*ms, 300*ms),
		NoGrace:  c.chance(30),
		Reload:   c.chance(30),
		NoStore:  c.chance(30),
	}
	if c.options.Timeout == 0 && c.chance(10) { // otherwise the round relies on it
		how.Timeout = -1
	}
	return how
}

// bounds says until when a TakeEntry must have returned.
func (c *call) bounds(how cache.Call) {
	if how.Timeout <= 0 {
		return
	}
	if c.options.Timeout > 0 && how.Timeout > c.options.Timeout { // load has bounded it by that
		c.until = c.began.Add(how.Timeout)
		if end, ok := c.ctx.Deadline(); ok && end.Before(c.until) {
			c.until = end
		}
	} else if end := c.began.Add(how.Timeout); c.until.IsZero() || c.until.After(end) {
		c.until = end
	}
}

// fetchWith is a fetch of TakeWith, TakeMissed or TakeEntry.
func (c *call) fetchWith(ctx context.Context, load *cache.Load[value]) (value, error) {
	values, err := c.fetch(ctx, loads{c.key: load}, c.key)
	return values[c.key], err
}

// takeMany calls a Take of several keys, and checks what it returns.
func (c *call) takeMany(take func(ctx context.Context, wanted []int) (map[int]value, error)) {
	wanted := c.wanted()
	c.take(wanted...)(func(ctx context.Context) {
		values, err := take(ctx, wanted)
		for key, v := range values {
			c.right(key, v)
		}
		if err != nil {
			c.failed(err)
		}
	})
}

// wanted draws keys, of which that of the call is one.
func (c *call) wanted() []int {
	wanted := []int{c.key}
	for range c.IntN(3) {
		if key := c.IntN(c.keys); key != wanted[0] && key != wanted[len(wanted)-1] {
			wanted = append(wanted, key)
		}
	}
	return wanted
}

// took checks what a Take of one key has returned.
func (c *call) took(v value, err error) {
	if err != nil {
		c.failed(err)
		return
	}
	c.right(c.key, v)
}
