package near

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// aging is [Cache.aging] for several keys, whose values are found: one call of fetch renews
// those for which this caller has the leases. It returns those that are to be fetched without
// a lease, since the store cannot write.
func (m *many[K, V]) aging(ctx context.Context, all []lack[K, V], read time.Time) (unleased []lack[K, V]) {
	c := m.cache
	var own, old []lack[K, V]
	for _, one := range all {
		switch {
		case !one.item.inGrace():
			m.loads[one.key].Expire = c.localTTL(c.untilAsked(), one.item.TTL, read)
		case one.item.Token == "" && one.item.Holder == "":
			unleased = append(unleased, one)
		default:
			old = append(old, one)
		}
		if one.item.Token != "" {
			own = append(own, one)
		}
	}
	anew, ended := m.renew(ctx, own)
	waited := len(old) > 0 && ended != nil && c.patience > 0 && endsWithin(ctx, ended, c.patience)
	for _, one := range old {
		if !waited || !m.takeRenewed(one.key, anew) {
			m.standsIn(one, read)
		}
	}
	return unleased
}

// renew begins the renewal of several keys in the background. Its results are in a many of its
// own.
func (m *many[K, V]) renew(ctx context.Context, own []lack[K, V]) (anew *many[K, V], ended <-chan struct{}) {
	if len(own) == 0 {
		return nil, nil
	}
	anew = &many[K, V]{cache: m.cache, fetch: m.fetch, loads: make(map[K]*cache.Load[V], len(own)), found: make(map[K]V, len(own))}
	for _, one := range own {
		anew.loads[one.key] = new(cache.Load[V])
	}
	return anew, m.cache.renew(ctx, func(ctx context.Context) (err error) {
		anew.fill(ctx, own)
		for _, l := range anew.loads {
			if l.Err != nil && !l.NotFound {
				err = l.Err
			}
		}
		return err
	})
}

// takeRenewed takes the result of a renewal of a key that has ended, unless that has failed.
func (m *many[K, V]) takeRenewed(key K, anew *many[K, V]) bool {
	l := anew.loads[key]
	value, found := anew.found[key]
	if l == nil || !l.NotFound && (l.Err != nil || !found) {
		return false
	}
	to := m.loads[key]
	to.Expire, to.Err, to.NotFound, to.KeepError = l.Expire, l.Err, l.NotFound, l.KeepError
	m.found[key] = value
	return true
}

// standsIn makes the value of an item in its Grace the result for its key.
func (m *many[K, V]) standsIn(one lack[K, V], read time.Time) {
	l := m.loads[one.key]
	l.Err = m.cache.standingIn(one, l, read)
}

// standIn does so for the keys whose fetch without a lease has failed.
func (m *many[K, V]) standIn(fetched []lack[K, V], read time.Time) {
	for _, one := range fetched {
		if l := m.loads[one.key]; one.item.inGrace() && l.Err != nil && !l.NotFound {
			m.standsIn(one, read)
		}
	}
}

// The standIns of a TakeMany are the values in their Grace. The cache in memory knows them as
// kept errors, and leaves their keys out.
type standIns[K comparable, V any] struct {
	mu    sync.Mutex // the load may go on when the caller has left
	own   map[K]V    // found by a load of this TakeMany
	asked map[K]bool // has been asked for by such a load
}

// note notes what a load has found.
func (o *standIns[K, V]) note(loads map[K]*cache.Load[V]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, l := range loads {
		o.asked[key] = true
		if old, ok := l.Err.(*inGrace[V]); ok {
			o.own[key] = old.value
		}
	}
}

// add adds the values in their Grace to those that TakeMany has found. What others have found is
// taken key by key. It returns the first error, which is that of TakeMany if there is one.
func (o *standIns[K, V]) add(ctx context.Context, c *Cache[K, V], keys []K, values map[K]V, fetch func(context.Context, []K) (map[K]V, error), err error) error {
	for _, key := range o.addOwn(&c.counts, keys, values) {
		if err != nil {
			break
		}
		value, failure := c.missed(ctx, key, func(ctx context.Context, _ *cache.Load[V]) (value V, err error) {
			got, err := fetch(ctx, []K{key})
			value, ok := got[key]
			if err == nil && !ok {
				err = c.notFound
			}
			return value, err
		})
		switch {
		case failure == nil:
			values[key] = value
		case !errors.Is(failure, c.notFound) && !c.negatives.keeps(failure):
			err = failure
		}
	}
	return err
}

// addOwn adds the values that this call has found, and returns the keys that neither have a value
// nor were asked for by this call.
func (o *standIns[K, V]) addOwn(counts *counts, keys []K, values map[K]V) (others []K) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range distinct(keys) {
		_, found := values[key]
		old, ours := o.own[key]
		switch {
		case found:
		case ours:
			values[key] = old
			counts.inGrace.Add(1)
		case !o.asked[key]:
			others = append(others, key)
		}
	}
	return others
}
