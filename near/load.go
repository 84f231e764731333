package near

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A fetcher calls the function of a Take or TakeMany, and sets value and err of all lookups.
type fetcher[K comparable, V any] func(ctx context.Context, lacking []*lookup[K, V])

// find sets the results of lookups, within a span of the Tracer.
func (c *Cache[K, V]) find(ctx context.Context, all []*lookup[K, V], fetch fetcher[K, V]) {
	ctx, ended := c.loadSpan(ctx, all)
	end := SpanEnd{Err: errNotReturned}
	defer func() { ended(end) }()
	c.search(ctx, all, fetch)
	end = c.endOf(all)
}

// search reads keys from the store, and fetches those that it does not have. It waits for other
// callers last, as they may wait for keys that it has leased. fetch is nil for a Get.
func (c *Cache[K, V]) search(ctx context.Context, all []*lookup[K, V], fetch fetcher[K, V]) {
	defer func() { // while one is waited for, others of the batch can be joined
		for _, one := range all {
			if one.unshared != nil {
				one.unshared()
			}
		}
	}()
	c.read(ctx, all, fetch != nil)
	leased := c.answer(ctx, all, fetch, fetch != nil)
	each(leased, func(one *lookup[K, V]) { c.await(ctx, one) })
	c.answer(ctx, leased, fetch, false)
	for _, one := range all {
		c.setTTL(one)
	}
}

// answer gives lookups that were read their results. If waits is set it returns those that
// another caller loads. A value that cannot be decoded is removed, once, and loaded anew.
func (c *Cache[K, V]) answer(ctx context.Context, all []*lookup[K, V], fetch fetcher[K, V], waits bool) (leased []*lookup[K, V]) {
	var lacking, failed, broken []*lookup[K, V]
	for _, one := range all {
		switch {
		case one.err != nil:
			failed = append(failed, one)
		case waits && one.item.State == Leased:
			leased = append(leased, one)
		case one.item.State == Missing, one.item.State == Leased:
			lacking = append(lacking, one)
		default:
			c.found(ctx, one)
			if errors.Is(one.err, errDecode) && fetch != nil && !one.removed {
				broken = append(broken, one)
			}
		}
	}
	c.withoutStore(ctx, failed, fetch)
	c.fetchLacking(ctx, lacking, fetch)
	if broken = c.removeBroken(ctx, broken); len(broken) > 0 {
		c.read(ctx, broken, true)
		leased = append(leased, c.answer(ctx, broken, fetch, waits)...)
	}
	return leased
}

var errDecode = errors.New("near: the store has a value that cannot be decoded")

// found sets the result of a lookup with a Found, Absent or Broken item.
func (c *Cache[K, V]) found(ctx context.Context, one *lookup[K, V]) {
	c.counts.remoteHits.Add(1)
	switch one.item.State {
	case Absent:
		one.err = c.notFound
	case Broken:
		one.err = fmt.Errorf("%w: its key has another type", errDecode)
	default:
		if one.value, one.err = c.decode(ctx, one.text, one.item.Value); one.err != nil {
			one.err = fmt.Errorf("%w: %w", errDecode, one.err)
		}
	}
	if errors.Is(one.err, errDecode) {
		c.counts.undecodable.Add(1)
		f := c.local.failures
		f.noteStore(one.err)
		f.warn(&f.undecodable, "near: a value of the store cannot be decoded: does another version or program write under this Prefix?", one.err)
		return
	}
	one.keepInMemory(one.item.TTL, one.began)
}

// decode decodes a value. After runtime.Goexit nobody gets an error, so it removes the value
// itself.
func (c *Cache[K, V]) decode(ctx context.Context, text string, data []byte) (V, error) {
	exited := true
	defer func() {
		if exited {
			c.counts.undecodable.Add(1)
			_ = c.removeOnce(ctx, []string{text}, nil)
		}
	}()
	value, err := convert(c.values.Decode, data)
	exited = false
	return value, err
}

// removeBroken removes values that cannot be decoded, and returns those that it could remove.
func (c *Cache[K, V]) removeBroken(ctx context.Context, broken []*lookup[K, V]) []*lookup[K, V] {
	if len(broken) == 0 {
		return nil
	}
	err := c.removeOnce(ctx, texts(broken), nil) // the next read will find it again
	for _, one := range broken {
		one.err, one.removed = err, true
	}
	if err != nil {
		return nil
	}
	return broken
}

// fetchLacking fetches keys that the store does not have. For some there may be no lease: another
// caller holds it, or the store has no leases, or it refuses writes.
func (c *Cache[K, V]) fetchLacking(ctx context.Context, lacking []*lookup[K, V], fetch fetcher[K, V]) {
	if fetch == nil {
		for _, one := range lacking {
			one.err, one.load.NotFound = errMissing, true
		}
		return
	}
	if len(lacking) == 0 {
		return
	}
	began, fetched := time.Now(), false
	for _, one := range lacking {
		one.began = began
		if one.item.State == Leased {
			one.item.Token = "" // it is that of the holder
		}
		if one.item.Token == "" {
			// A removal of the key changes nothing in the store, so the source does not tell of it.
			one.unshared = c.local.unshareLater(one.key)
		}
	}
	defer func() {
		if !fetched { // it panicked or exited
			each(lacking, func(one *lookup[K, V]) { c.release(ctx, one) })
		}
	}()
	c.counts.fetches.Add(uint64(len(lacking)))
	fetch(ctx, lacking)
	fetched = true
	if slices.ContainsFunc(lacking, func(one *lookup[K, V]) bool { return one.item.Token == "" }) {
		c.local.keepsBriefly()
	}
	each(lacking, func(one *lookup[K, V]) { c.keep(ctx, one) })
}

// keep stores the result of a fetch, under the lease if there is one, and lets it stay in
// memory. No caller gets errors of the store, as the callers have their value.
func (c *Cache[K, V]) keep(ctx context.Context, one *lookup[K, V]) {
	leased := one.item.Token != ""
	defer func() {
		if leased { // and not filled: fetch or Encode failed, or the store did
			c.release(ctx, one)
		}
	}()
	stored := time.Now()
	item, ok := c.itemOf(one)
	if !ok {
		return
	}
	filled, err := c.fill(ctx, one, item)
	switch {
	case err != nil:
		c.keepBriefly(one)
	case filled:
		one.keepInMemory(item.TTL, stored)
	default: // the key was changed since the lease was taken
		c.counts.overtaken.Add(1)
	}
	leased = leased && err != nil
}

// itemOf returns what is to be stored for the result of a fetch; false if that is nothing.
func (c *Cache[K, V]) itemOf(one *lookup[K, V]) (item Item, ok bool) {
	one.load.NotFound = c.isNone(one)
	one.load.Gone = one.load.NotFound && one.load.HasOld
	switch {
	case one.err == nil && one.expire < 0:
	case one.err == nil:
		item = Item{State: Found, TTL: c.ttl(one.expire)}
		item.Value, one.err = convert(c.values.Encode, one.value)
		return item, one.err == nil
	case one.load.NotFound && c.notFoundLocal:
		c.keepBriefly(one)
	case one.load.NotFound && c.notFoundExpire > 0:
		return Item{State: Absent, TTL: c.ttl(c.notFoundExpire)}, true
	}
	return item, false
}

// isNone reports whether the database has no value for a key.
func (c *Cache[K, V]) isNone(one *lookup[K, V]) bool {
	return one.none || errors.Is(one.err, c.notFound)
}

var errNoLease = errors.New("near: another caller has the lease, or the store refuses writes")

// fill stores an item, and reports whether it may be kept for as long as it is in the store. It
// does not end with the context of the callers.
func (c *Cache[K, V]) fill(ctx context.Context, one *lookup[K, V], item Item) (filled bool, err error) {
	ctx = context.WithoutCancel(ctx)
	switch {
	case one.phantom, c.leaser != nil && one.item.Token == "":
		err = errNoLease
	case c.leaser == nil: // the key may have been changed since
		if err = c.ask(ctx, one.text, c.traced("write", 1, func(ctx context.Context) error { return c.store.Set(ctx, one.text, item) })); err == nil {
			err = errNoLease
		}
	default:
		err = c.ask(ctx, one.text, c.traced("write", 1, func(ctx context.Context) (err error) {
			filled, err = c.leaser.Fill(ctx, one.text, one.item.Token, item)
			return err
		}))
	}
	return filled, err
}

// withoutStore ends lookups for which the store returned an error, as ServeOn and Away say.
func (c *Cache[K, V]) withoutStore(ctx context.Context, failed []*lookup[K, V], fetch fetcher[K, V]) {
	var lacking []*lookup[K, V]
	for _, one := range failed {
		value, ok := c.local.standIn(one.key)
		switch {
		case context.Cause(ctx) != nil:
			one.err = context.Cause(ctx)
		case one.load.HasOld && !one.anew: // the value in memory stays, so the database is spared
			one.err = sparedError{one.err}
		case ok && !one.anew:
			c.counts.servedOn.Add(1)
			c.local.cache.Del(one.key) // who comes later does not join, as other keys may hold up this load
			one.value, one.err, one.stoodIn = value, nil, true
		case fetch != nil && c.away == Bypass:
			lacking = append(lacking, one)
			one.unshared = c.local.unshareLater(one.key)
		}
	}
	if len(lacking) == 0 {
		return
	}
	c.counts.bypasses.Add(1)
	began := time.Now()
	fetch(ctx, lacking)
	for _, one := range lacking {
		one.began, one.pauses = began, true
		if one.err == nil && one.expire >= 0 || one.err != nil && !(one.anew && one.load.HasOld) { // or the error would replace what others may get
			one.keepBriefly(c.local.link.maxLag) // errors too: the database may be away as well
		}
	}
}

// setTTL says how long the result of a lookup stays in memory. It comes last, as that time counts
// from the end of the load.
func (c *Cache[K, V]) setTTL(one *lookup[K, V]) {
	if one.briefly || one.stoodIn || !one.vouched {
		c.local.keepsBriefly()
	}
	if one.stoodIn {
		c.local.stoodIn.note(plus(c.local.link.now(), int64(time.Second))) // callers get the value a moment later
	}
	if !one.kept {
		one.load.Expire = -1
		if one.gone {
			one.err = goneError{one.err}
		}
		return
	}
	local := c.localExpire
	if one.err != nil && !one.pauses {
		local = c.notFoundExpire
	}
	ttl := c.localTTL(local, one.inStore, one.stored)
	if !one.vouched {
		ttl = c.localTTL(ttl, c.local.link.maxLag, one.began)
	}
	if one.err == nil {
		one.load.Expire = ttl
	} else {
		if one.load.NotFound = c.isNone(one); !one.load.NotFound {
			one.err = pausedError{one.err}
		}
		one.err = KeepError(one.err, ttl)
	}
}

// keepBriefly lets the result of a fetch, which the store does not have, stay in memory until
// MaxLag after the fetch began: for that long it may be served, whatever happens to its key.
func (c *Cache[K, V]) keepBriefly(one *lookup[K, V]) {
	if one.err == nil || one.load.NotFound && c.notFoundExpire > 0 {
		one.keepBriefly(c.local.link.maxLag)
	}
}

// endOf returns how the span of a load ends.
func (c *Cache[K, V]) endOf(all []*lookup[K, V]) (end SpanEnd) {
	if c.tracer == nil {
		return end
	}
	for i, one := range all {
		if one.fetched {
			end.Fetched++
		}
		none := one.load.NotFound || c.isNone(one)
		if one.err != nil && !none && end.Err == nil {
			end.Err = inSpan(one.err)
		}
		switch outcome := one.outcome(none); {
		case i == 0:
			end.Outcome = outcome
		case outcome != end.Outcome:
			end.Outcome = "mixed"
		}
	}
	return end
}
