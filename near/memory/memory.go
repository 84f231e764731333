// This file has the store: its items, leases, and how it fails.

// Package memory has a store for tests of services that use package near. A [Store] is the store and
// the source of all caches that a test makes, which so are a fleet in one process: a Set or Del of one
// is told to all others that watch, see [Store.WaitFor], before it returns, so a test need not wait.
// It runs by the clock of the process, so also in a bubble of testing/synctest.
//
// It is not for production: what it has is in no other process, and has no limit.
package memory

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A Store is a [near.Store], with leases, and the [near.Source] of its changes. Make one with [New].
// Its methods are safe for concurrent use. It tells caches of changes under its lock, and they call
// the functions of near.Options.Keys and log to its Logger then, which must not use the store.
type Store struct {
	mu      sync.Mutex
	joined  sync.Cond // a watcher has come
	records map[string]*record
	seats   []*seat
	lists   map[string]list
	leases  int   // so many were taken
	failure error // of Fail, or nil
}

var (
	_ near.Leaser = (*Store)(nil)
	_ near.Fleet  = (*Store)(nil)
	_ near.Source = (*Store)(nil)
)

// A record is what the store has for a key, also a lease.
type record struct {
	near.Item
	end     time.Time // zero: never
	awaited bool      // of a lease: somebody else has seen it
}

// New returns an empty store.
func New() *Store {
	s := &Store{records: map[string]*record{}, lists: map[string]list{}}
	s.joined.L = &s.mu
	return s
}

// Get returns what the store has for keys.
func (s *Store) Get(ctx context.Context, keys ...string) (items []near.Item, err error) {
	err = s.do(ctx, func() {
		for _, key := range keys {
			items = append(items, s.read(key))
		}
	})
	return items, err
}

// Set stores an item, and tells all who watch.
func (s *Store) Set(ctx context.Context, key string, item near.Item) error {
	return s.do(ctx, func() {
		s.put(key, item)
		s.tell(key)
	})
}

// Del removes keys, ends the leases on them, and tells all who watch. As in Redis, to remove a key that
// is not there is no change.
func (s *Store) Del(ctx context.Context, keys ...string) error {
	return s.do(ctx, func() {
		for _, key := range keys {
			if s.drop(key) {
				s.tell(key)
			}
		}
	})
}

// Lease is Get, and takes a lease on each missing key.
func (s *Store) Lease(ctx context.Context, life time.Duration, keys ...string) (items []near.Item, err error) {
	err = s.do(ctx, func() {
		for _, key := range keys {
			item := s.read(key)
			if item.State == near.Missing {
				s.leases++
				item.Token = strconv.Itoa(s.leases)
				s.put(key, near.Item{State: near.Leased, Token: item.Token, TTL: life})
			}
			items = append(items, item)
		}
	})
	return items, err
}

// Fill stores an item if the lease with the token still holds.
func (s *Store) Fill(ctx context.Context, key, token string, item near.Item) (filled bool, err error) {
	err = s.do(ctx, func() {
		filled = s.endLease(key, token, func() { s.put(key, item) })
	})
	return filled, err
}

// Release ends a lease, if it still holds.
func (s *Store) Release(ctx context.Context, key, token string) error {
	return s.do(ctx, func() {
		s.endLease(key, token, func() { s.drop(key) })
	})
}

// Fail makes the store go away: its calls return err, and the caches are told that they lost the
// source. Fail(nil) brings it back, with what it had. A cache whose reads have failed three times in a
// row asks it again within a second.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.failure
	s.failure = err
	for _, one := range s.seats {
		switch {
		case err != nil:
			one.Lost(err)
		case was != nil:
			one.open()
		}
	}
}

// do calls f under the lock, unless ctx has ended or the store is away.
func (s *Store) do(ctx context.Context, f func()) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		f()
	}
	return s.failure
}

// look returns the record of a key, or nil. It drops one whose time is over, if its timer is late.
func (s *Store) look(key string) *record {
	r := s.records[key]
	if r != nil && !r.end.IsZero() && !time.Now().Before(r.end) {
		s.drop(key)
		s.tell(key)
		return nil
	}
	return r
}

// read returns what callers see of a key.
func (s *Store) read(key string) near.Item {
	r := s.look(key)
	if r == nil {
		return near.Item{}
	}
	r.awaited = r.State == near.Leased
	item := r.Item
	if !r.end.IsZero() {
		item.TTL = max(time.Until(r.end), 1) // 0 is for ever
	}
	return item
}

// put stores an item in place of what the key has, and tells nobody.
func (s *Store) put(key string, item near.Item) {
	r := &record{Item: item}
	if item.TTL > 0 {
		r.end = time.Now().Add(item.TTL)
		time.AfterFunc(item.TTL, func() { s.expire(key, r) })
	}
	s.records[key] = r
}

// drop removes a key, tells nobody, and reports whether it was there.
func (s *Store) drop(key string) bool {
	_, ok := s.records[key]
	delete(s.records, key)
	return ok
}

// expire removes a record whose time is over, if the key still has it.
func (s *Store) expire(key string, r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[key] == r {
		s.drop(key)
		s.tell(key)
	}
}

// endLease calls end if the lease with the token holds, and reports whether it does. It tells of that
// only if somebody may wait for it: whoever holds the lease keeps its value only if it is told nothing.
func (s *Store) endLease(key, token string, end func()) bool {
	r := s.look(key)
	if r == nil || r.State != near.Leased || r.Token != token {
		return false
	}
	end()
	if r.awaited {
		s.tell(key)
	}
	return true
}
