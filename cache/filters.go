// This file has the functions of DelFunc that a load asks before its value is stored.

package cache

import (
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// A filter is the function of a DelFunc, for loads that were under way when it began.
type filter[K comparable, V any] struct {
	del  func(K, V) bool
	void atomic.Bool // del panicked, and is not called again
}

// maxFilters bounds the filters of one load, and so the memory of a load that hangs while DelFunc is
// called again and again. A load that would get more becomes stale.
const maxFilters = 32

// addFilter makes the loads under way ask f before their values are stored. Stale loads need not, as
// their values are not stored.
func (p *pending[K, V]) addFilter(f *filter[K, V]) {
	for l := range p.all() {
		switch {
		case l.stale:
		case l.filtered == maxFilters:
			l.stale = true
			l.filters = nil
		default:
			l.filtered++
			l.filters = append(l.filters, f)
		}
	}
}

// filterLoad asks filters about the value of a load. If one of them removes it, the value
// is not stored.
func (c *Cache[K, V]) filterLoad(l *load[K, V], filters []*filter[K, V]) {
	if !c.anyRemoves(filters, l.key, l.value) {
		return
	}
	s := c.common.lock(l.hash)
	l.stale = true
	s.lock.Unlock()
}

// anyRemoves asks filters about a value, in a goroutine of its own, so that a Goexit of one ends
// only that goroutine. A panic or Goexit counts as yes.
func (c *Cache[K, V]) anyRemoves(filters []*filter[K, V], key K, value V) (yes bool) {
	asked := make(chan struct{})
	yes = true
	c.spawn(func() {
		defer close(asked)
		runner.RunAsLoad(func() {
			yes = slices.ContainsFunc(filters, func(f *filter[K, V]) bool { return f.removes(key, value, c.tellPanic) })
		})
	})
	<-asked
	return yes
}

// removes asks a filter about a value. After a panic the value is to be removed.
func (f *filter[K, V]) removes(key K, value V, tell func(any, []byte)) (yes bool) {
	if f.void.Load() {
		return false
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		yes = true
		f.void.Store(true)
		var cause any = ErrGoexit
		if p := recover(); p != nil {
			cause = p
		}
		tell(cause, debug.Stack())
	}()
	yes = f.del(key, value)
	returned = true
	return yes
}
