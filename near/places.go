package near

import (
	"context"
	"errors"
	"time"
)

// Places are for the fetches that run at once: MaxLoads. A fetch within another one, which its
// context shows, needs no place of its own: it could wait for one that is free only when it has
// ended.
type places struct {
	free chan struct{} // has room for as many as may fetch; nil: no limit
}

// inPlace is the context key of a fetch that has a place.
type inPlace struct{ *places }

// ErrBusy is the error of a Take that has waited for a place among MaxLoads for as long as
// Lease. Whoever gave it up is not loading, so the next caller tries again.
var ErrBusy = errors.New("near: as many fetches as MaxLoads run already, and none ended for as long as Lease")

func (p *places) init(most int) {
	if most > 0 {
		p.free = make(chan struct{}, most)
	}
}

// try takes a place if one is free. A fetch runs within the context that it returns; leave
// must follow.
func (p *places) try(ctx context.Context) (within context.Context, leave func(), ok bool) {
	if p.free == nil || ctx.Value(inPlace{p}) != nil {
		return ctx, func() {}, true
	}
	select {
	case p.free <- struct{}{}:
		return context.WithValue(ctx, inPlace{p}, true), func() { <-p.free }, true
	default:
		return ctx, func() {}, false
	}
}

// enter waits for a place, for a time at most.
func (p *places) enter(ctx context.Context, atMost time.Duration) (within context.Context, leave func(), err error) {
	if within, leave, ok := p.try(ctx); ok {
		return within, leave, nil
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case p.free <- struct{}{}:
		return context.WithValue(ctx, inPlace{p}, true), func() { <-p.free }, nil
	case <-timer.C:
		return ctx, func() {}, ErrBusy
	case <-ctx.Done():
		return ctx, func() {}, context.Cause(ctx)
	}
}

// enter takes a place for the fetch of a key. Who must wait for one gives the lease back, for
// others to use it, and then asks the store again.
func (c *Cache[K, V]) enter(ctx context.Context, one lack[K, V]) (within context.Context, leave func(), waited bool, err error) {
	if within, leave, ok := c.places.try(ctx); ok {
		return within, leave, false, nil
	}
	if one.item.Token != "" {
		c.release(ctx, one.text, one.item.Token)
	}
	within, leave, err = c.places.enter(ctx, c.lease)
	return within, leave, true, err
}
