package near

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A fetcher is the function of a [Cache.TakeWith]. Its Load is about the value in the store.
type fetcher[V any] func(ctx context.Context, l *cache.Load[V]) (V, error)

// A lack is a key whose value is to be fetched, and what the store has of it: nothing, or one
// that is due or in its Grace; with the token of the lease, if there is one.
type lack[K comparable, V any] struct {
	key  K
	text string
	item Item
	old  V // the value of item
}

// load finds the value of a key in the store, or fetches it.
func (c *Cache[K, V]) load(ctx context.Context, key K, l *cache.Load[V], fetch fetcher[V]) (value V, err error) {
	text := c.local.key(key)
	if err := c.refused(ctx, key, l); err != nil {
		return value, err
	}
	defer c.local.groups.members.begin(key)()
	patience, leave := c.patience, func() {}
	defer func() { leave() }()
	for again, placed := false, false; ; again = true {
		item, began, err := c.obtainCurrent(ctx, key, text)
		if err != nil {
			return c.withoutStore(ctx, key, l, err, fetch)
		}
		if item.State == Missing {
			one := lack[K, V]{key: key, text: text, item: item}
			if !placed {
				var waited bool
				if ctx, leave, waited, err = c.enter(ctx, one); err != nil {
					return value, err
				}
				if placed = true; waited {
					continue
				}
			}
			return c.fetch(ctx, one, l, c.start(ctx, item.Token != ""), fetch)
		}
		value, err = c.found(item, began, l)
		switch {
		case err == nil && item.inGrace() && item.isHeld() && patience > 0:
			c.awaitRenewal(ctx, text, item.Holder, patience)
			patience = 0
		case err == nil && item.isDue():
			return c.aging(ctx, lack[K, V]{key, text, item, value}, l, patience, fetch)
		case errors.Is(err, errDecode) && !again:
			if err := c.ask(ctx, func(ctx context.Context) error { return c.store.Del(ctx, text) }); err != nil {
				return value, err
			}
		default:
			return value, err
		}
	}
}

// read is load without a fetch, for Get.
func (c *Cache[K, V]) read(ctx context.Context, key K, l *cache.Load[V]) (V, error) {
	defer c.local.groups.members.begin(key)()
	began := time.Now()
	item, err := c.get(ctx, c.local.key(key))
	if err == nil {
		item, err = c.onlyCurrent(ctx, key, item)
	}
	switch {
	case err != nil:
		return c.withoutStore(ctx, key, l, err, nil)
	case item.State == Missing, item.State == Leased, item.inGrace():
		var none V
		l.NotFound = true
		return none, errMissing
	}
	value, err := c.found(item, began, l)
	if item.isDue() { // the next Take is to see that
		l.Expire = -1
	}
	return value, err
}

func (c *Cache[K, V]) get(ctx context.Context, text string) (item Item, err error) {
	err = c.ask(ctx, func(ctx context.Context) error {
		items, err := c.store.Get(ctx, text)
		if err == nil {
			item = items[0]
		}
		return err
	})
	return item, err
}

var errDecode = errors.New("near: the store has a value that cannot be decoded")

// found returns the result of a load that has read a Found or Absent item. began is when the
// reading began. Memory has a value until it is due; that of one which is due is for the
// caller to say.
func (c *Cache[K, V]) found(item Item, began time.Time, l *cache.Load[V]) (value V, err error) {
	c.counts.remoteHits.Add(1)
	if item.State == Absent {
		l.NotFound, l.KeepError = true, c.localTTL(c.notFoundExpire, item.TTL, began)
		return value, c.notFound
	}
	if value, err = c.decode(item.Value); err != nil {
		return value, fmt.Errorf("%w: %w", errDecode, err)
	}
	l.Expire = c.localTTL(c.localExpire, item.TTL-item.Due, began)
	return value, nil
}

// decode calls Decode. A panic of it is an error: others chose the bytes.
func (c *Cache[K, V]) decode(data []byte) (value V, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &cache.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return c.values.Decode(data)
}

// fetch calls the function of a Take and stores the result, under a lease if there is one.
// Without a lease the next caller reads it from the store, if that has it; else the result is
// kept in memory for no longer than brief since the fetch began.
func (c *Cache[K, V]) fetch(ctx context.Context, one lack[K, V], l *cache.Load[V], began start, fetch fetcher[V]) (value V, err error) {
	key, token := one.key, one.item.Token
	ended := token == "" // the lease
	if ended {
		defer c.unshareLater(key)()
	}
	defer func() {
		if !ended { // fetch failed, panicked or exited, or the store did
			c.release(ctx, one.text, token)
		}
	}()
	l.Expire = -1
	c.counts.fetches.Add(1)
	told := cache.Load[V]{Old: one.old, HasOld: one.item.State == Found, Expire: c.expire}
	since := c.negatives.moment()
	value, err = fetch(ctx, &told)
	fetched := time.Now()
	if err == nil && told.Unchanged {
		value, err = one.unchanged()
	}
	if l.NotFound = err != nil && (told.NotFound || errors.Is(err, c.notFound)); l.NotFound {
		told.KeepError = cmp.Or(told.KeepError, c.notFoundExpire)
	}
	var groups []string
	if err == nil {
		groups = c.groupsOf(key, value)
		c.join(key, groups)
	}
	var item Item
	may := c.mayExist(key)
	switch {
	case l.NotFound && told.KeepError > 0 && !may:
		l.KeepError = told.KeepError
		return value, err
	case l.NotFound && told.KeepError > 0:
		item = Item{State: Absent, TTL: c.ttl(told.KeepError)}
	case l.NotFound, err == nil && told.Expire < 0:
		c.drop(ctx, one)
		return value, err
	case err != nil:
		c.negatives.keep(key, err, told.KeepError, since)
		return value, err
	case !may:
		l.Expire = c.brief(began.at)
		return value, nil
	case told.Unchanged:
		item = c.aged(one.item.Value, told.Expire)
	default:
		data, err := c.values.Encode(value)
		if err != nil {
			return value, err
		}
		item = c.aged(data, told.Expire)
	}
	var filled bool
	var storeErr error
	if token != "" {
		item.Groups, storeErr = c.memberships(context.WithoutCancel(ctx), groups, began.number)
	}
	if storeErr == nil {
		filled, ended, storeErr = c.fill(ctx, one.text, token, item)
	}
	switch {
	case filled && item.State == Absent:
		l.KeepError = c.localTTL(told.KeepError, item.TTL, fetched)
	case filled:
		l.Expire = c.localTTL(c.localExpire, item.TTL-item.Due, fetched)
	case storeErr == errGroupChanged:
		c.counts.overtaken.Add(1)
	case storeErr != nil:
		l.Expire = c.brief(began.at)
	}
	return value, err
}

// drop removes the value that the store has of a key, as there is no other.
func (c *Cache[K, V]) drop(ctx context.Context, one lack[K, V]) {
	if one.item.State == Found {
		_ = c.ask(context.WithoutCancel(ctx), func(ctx context.Context) error { return c.store.Del(ctx, one.text) })
	}
}

// unchanged returns the value that a fetch has left as it is.
func (one lack[K, V]) unchanged() (value V, err error) {
	if one.item.State != Found {
		return value, errUnchanged
	}
	return one.old, nil
}

var errUnchanged = errors.New("near: the fetch of a key without a value says Unchanged: want that only with HasOld")

// aged returns the item of a value with a TTL before jitter, which has a Due and a Grace if
// the options say so.
func (c *Cache[K, V]) aged(data []byte, ttl time.Duration) Item {
	item := Item{State: Found, Value: data, TTL: c.ttl(ttl)}
	if item.TTL > 0 && c.leaser != nil {
		item.Grace = c.grace
		if c.refresh > 0 {
			item.Due = item.TTL - time.Duration(float64(item.TTL)*c.refresh)
		}
	}
	return item
}

// fill stores a fetched item in the store. It reports whether the item may be kept in memory
// for its TTL, and whether the lease has ended. No caller gets its error, as the callers have
// their value. It does not end with the context of the callers.
func (c *Cache[K, V]) fill(ctx context.Context, text, token string, item Item) (filled, ended bool, err error) {
	if token == "" && c.leaser != nil {
		return false, true, errUnleased
	}
	err = c.ask(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
		if token == "" {
			return c.store.Set(ctx, text, item)
		}
		filled, err = c.leaser.Fill(ctx, text, token, item)
		return err
	})
	if err != nil {
		return false, token == "", err
	}
	if token != "" && !filled {
		c.counts.overtaken.Add(1)
	}
	return filled, true, nil
}

// errUnleased means that a result is not stored, as others may have stored a newer one.
var errUnleased = errors.New("near: fetched without a lease")

// withoutStore ends a load after the store returned an error, as ServeOn and Away say. fetch
// is nil for a Get.
func (c *Cache[K, V]) withoutStore(ctx context.Context, key K, l *cache.Load[V], storeErr error, fetch fetcher[V]) (value V, err error) {
	l.Expire = -1
	if err := context.Cause(ctx); err != nil {
		return value, err
	}
	if value, ok := c.standIn(key); ok {
		return value, nil
	}
	if fetch == nil || c.away == Fail {
		return value, storeErr
	}
	ctx, leave, err := c.places.enter(ctx, c.lease)
	if err != nil {
		return value, err
	}
	defer leave()
	defer c.unshareLater(key)()
	c.counts.bypasses.Add(1)
	began := time.Now()
	var told cache.Load[V]
	if value, err = fetch(ctx, &told); err == nil && told.Unchanged {
		return value, errUnchanged
	}
	if told.Expire >= 0 {
		l.Expire = c.brief(began)
	}
	if err == nil {
		c.join(key, c.groupsOf(key, value))
	}
	l.NotFound = err != nil && (told.NotFound || errors.Is(err, c.notFound))
	return value, err
}

// standIn returns the value in memory, while ServeOn allows that.
func (c *Cache[K, V]) standIn(key K) (value V, ok bool) {
	if c.serveOn == 0 {
		return value, false
	}
	if value, ok = c.local.peek(key, c.serveOn); ok {
		c.counts.servedOn.Add(1)
	}
	return value, ok
}

// unshareLater keeps callers that come MaxLag later from joining a load, unless the function
// that it returns is called before. The load is about to fetch while the store has nothing for the
// key, not even a lease. A removal of the key then changes nothing in the store, so the source
// does not tell of it.
func (c *Cache[K, V]) unshareLater(key K) (stop func() bool) {
	return time.AfterFunc(c.local.link.maxLag, func() { c.local.Forget(key) }).Stop
}

// brief returns the TTL in memory, before jitter, of a value whose fetch began at began, if
// nobody tells when it changes: it is gone before MaxLag has passed, also if it is stored a
// quarter of MaxLag late.
func (c *Cache[K, V]) brief(began time.Time) time.Duration {
	left := time.Duration(float64(c.local.link.maxLag/4*3-time.Since(began)) / (1 + c.jitter))
	if left <= 0 {
		return -1
	}
	return left
}

// ask is tell for calls that can be spared: it fails at once while the store does not answer.
func (c *Cache[K, V]) ask(ctx context.Context, f func(context.Context) error) error {
	if !c.breaker.isOpen() {
		return c.tell(ctx, f)
	}
	c.counts.storeSpared.Add(1)
	c.breaker.probe(&c.background, c.timeout, func(ctx context.Context) error {
		_, err := c.store.Get(ctx, c.local.prefix) // of any key; it need not exist
		return err
	})
	return errSpared
}

// tell calls the store, with the Timeout of the options.
func (c *Cache[K, V]) tell(ctx context.Context, f func(context.Context) error) error {
	within := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	err := f(within)
	switch {
	case err == nil:
		c.breaker.answered()
		return nil
	case ctx.Err() != nil: // the caller has left
	case within.Err() != nil:
		c.breaker.tooLate()
		c.counts.storeErrors.Add(1)
	default:
		c.breaker.answered()
		c.counts.storeErrors.Add(1)
	}
	return fmt.Errorf("%w: %w", ErrStore, err)
}

// ttl returns a TTL with jitter.
func (c *Cache[K, V]) ttl(ttl time.Duration) time.Duration {
	if ttl == 0 || c.jitter == 0 {
		return ttl
	}
	return max(time.Duration(float64(ttl)*(1+c.jitter*(2*rand.Float64()-1))), time.Millisecond)
}

// localTTL returns the TTL in memory, before jitter, of an item that has the TTL inStore in
// the store: at most local, and never longer than in the store. 0 means for ever in all
// three. The reading of the item began at began. The result is negative if the item has
// expired since.
func (c *Cache[K, V]) localTTL(local, inStore time.Duration, began time.Time) time.Duration {
	if inStore == 0 {
		return local
	}
	left := time.Duration(float64(inStore-time.Since(began)) / (1 + c.jitter))
	switch {
	case left <= 0:
		return -1
	case local == 0:
		return left
	}
	return min(local, left)
}
