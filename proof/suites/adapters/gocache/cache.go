// Package cache has the names of github.com/patrickmn/go-cache on top of package cache.
package cache

import (
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/proof/suites/adapters/calls"
)

const (
	NoExpiration      time.Duration = -1
	DefaultExpiration time.Duration = 0
)

// An Item is a value and its deadline in Unix nanoseconds, or 0.
type Item struct {
	Object     any
	Expiration int64
}

type Cache struct {
	cache *cache.Cache[string, Item]
	ttl   time.Duration // the default
	calls *calls.Count

	mu        sync.Mutex // guards what follows
	onEvicted func(string, any)
}

// New makes a cache. The interval has no effect: the wheel removes what has expired.
func New(ttl, _ time.Duration) *Cache {
	c := &Cache{ttl: ttl, calls: calls.New()}
	c.cache = cache.Must(cache.Options[string, Item]{Expire: max(ttl, 0), OnRemove: c.removed, Workers: 1})
	return c
}

// NewFrom makes a cache of items.
func NewFrom(ttl, interval time.Duration, items map[string]Item) *Cache {
	c := New(ttl, interval)
	c.restore(items)
	return c
}

func (c *Cache) removed(e cache.Event[string, Item]) {
	defer c.calls.End()
	c.mu.Lock()
	tell := c.onEvicted
	c.mu.Unlock()
	if tell != nil && (e.Cause == cache.Deleted || e.Cause == cache.Expired) {
		tell(e.Key, e.Value.Object)
	}
}

func (c *Cache) OnEvicted(f func(string, any)) {
	c.mu.Lock()
	c.onEvicted = f
	c.mu.Unlock()
}

func (c *Cache) Set(k string, x any, d time.Duration) {
	item, ttl := c.item(x, d)
	c.cache.SetWithExpire(k, item, ttl)
}

// item returns what to store for a value, and the TTL in terms of package cache.
func (c *Cache) item(x any, d time.Duration) (Item, time.Duration) {
	if d == DefaultExpiration {
		d = c.ttl
	}
	if d <= 0 {
		return Item{Object: x}, 0
	}
	return Item{x, time.Now().Add(d).UnixNano()}, d
}

// Add stores a value with the default TTL and then sets its own: the cache has no single
// step for that.
func (c *Cache) Add(k string, x any, d time.Duration) error {
	item, ttl := c.item(x, d)
	if _, found := c.cache.GetOrSet(k, item); found {
		return fmt.Errorf("Item %s already exists", k)
	}
	c.cache.Touch(k, ttl)
	return nil
}

// Replace takes the same two steps as Add.
func (c *Cache) Replace(k string, x any, d time.Duration) error {
	item, ttl := c.item(x, d)
	err := c.change(k, func(Item) (Item, error) { return item, nil })
	if err == nil {
		c.cache.Touch(k, ttl)
	}
	return err
}

// change changes the item of a key.
func (c *Cache) change(k string, f func(Item) (Item, error)) (err error) {
	c.cache.Compute(k, func(old Item, found bool) (Item, cache.Op) {
		if !found {
			err = fmt.Errorf("Item %s not found", k)
			return old, cache.OpKeep
		}
		changed, e := f(old)
		if err = e; err != nil {
			return old, cache.OpKeep
		}
		return changed, cache.OpSet
	})
	return err
}

func (c *Cache) Get(k string) (any, bool) {
	item, found := c.cache.Get(k)
	return item.Object, found
}

// get is Get; in the original its caller holds the lock.
//
//lint:ignore U1000 the tests of the original call it
func (c *Cache) get(k string) (any, bool) { return c.Get(k) }

func (c *Cache) Delete(k string) {
	c.cache.Del(k)
	c.calls.Wait(c.cache.Stats())
}

func (c *Cache) ItemCount() int { return c.cache.Len() }
func (c *Cache) Flush()         { c.cache.Clear() }

func (c *Cache) Items() map[string]Item {
	items := map[string]Item{}
	for k, item := range c.cache.All() {
		items[k] = item
	}
	return items
}

// restore adds the items whose keys the cache does not have.
func (c *Cache) restore(items map[string]Item) {
	for k, item := range items {
		if _, found := c.cache.GetOrSet(k, item); !found && item.Expiration > 0 {
			c.cache.Touch(k, time.Until(time.Unix(0, item.Expiration)))
		}
	}
}

func (c *Cache) Save(w io.Writer) error {
	items := c.Items()
	for _, item := range items {
		gob.Register(item.Object)
	}
	return gob.NewEncoder(w).Encode(items)
}

func (c *Cache) Load(r io.Reader) error {
	items := map[string]Item{}
	if err := gob.NewDecoder(r).Decode(&items); err != nil {
		return err
	}
	c.restore(items)
	return nil
}

func (c *Cache) SaveFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := c.Save(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (c *Cache) LoadFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.Load(f)
}
