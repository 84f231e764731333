package pairs

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// This file has what is checked in the statistics, and while nothing else happens.

// intermission checks what must hold while nobody acts.
func (r *round) intermission() {
	r.checking.Store(true)
	defer r.checking.Store(false)
	r.checkGets()
	if !slices.Contains(r.without, "Restore") {
		r.checkRestore()
		r.checkSmaller()
	}
}

// stats are those of the cache. No actor calls a method meanwhile.
func (r *round) stats() stats.Snapshot {
	defer r.checking.Store(r.checking.Swap(true))
	return r.cache.Stats()
}

// checkGets checks that each get was counted once.
func (r *round) checkGets() {
	s := r.stats()
	l := r.ledger
	if s.Gets() < l.gets || s.Gets() > l.gets+l.unsure {
		r.failf("%d hits and %d misses, but %d gets (and %d with a nil context)", s.Hits, s.Misses, l.gets, l.unsure)
	}
}

// contents returns all values, those in Grace too.
func (r *round) contents() map[int]value {
	all := map[int]value{}
	r.cache.DelFunc(func(key int, v value) bool {
		all[key] = v
		return false
	})
	return all
}

// checkRestore restores what the actors have saved, and what the cache has now.
//
// Restore overwrites nothing, and causes no event.
func (r *round) checkRestore() {
	was, removals := r.contents(), r.stats().Removals
	snapshot := r.saved.Load()
	number := uint64(0)
	decode := func(b []byte) (int, value, error) {
		number++
		key := keyIn(b)
		v := value{id: r.dice.at('q', number).place | 1, key: key, depth: deepest, above: keys}
		r.ledger.restore(v)
		return key, v, nil
	}
	n := 0
	alone(func() {
		var err error
		if n, err = r.cache.Restore(bytes.NewReader(snapshot.Bytes()), decode); err != nil {
			r.failf("Restore: %v", err)
		}
	})
	is := r.contents()
	for key, v := range was {
		if is[key] != v {
			r.failf("Restore of %d entries: the value of %d was %+v, and is %+v", n, key, v, is[key])
		}
	}
	if now := r.stats().Removals; now.Total() != removals.Total()+(now.Expired-removals.Expired) {
		r.failf("Restore of %d entries has removed some: %+v, before %+v", n, now, removals)
	}
}

// checkSmaller saves the entries and restores them in a smaller cache, which must be full.
func (r *round) checkSmaller() {
	var b bytes.Buffer
	saved := 0
	err := r.cache.Save(&b, func(dst []byte, _ int, v value) ([]byte, error) {
		saved++
		return v.encoded(dst), nil
	})
	if err != nil {
		r.failf("Save: %v", err)
	}
	limit := 1 + saved/2
	small := cache.Must(options{Limit: limit, Schema: r.options.Schema})
	n, err := small.Restore(&b, func(b []byte) (int, value, error) { return keyIn(b), value{}, nil })
	if want := min(saved, limit); n != want || err != nil {
		r.failf("Restore of %d entries in a cache for %d: %d, %v; want %d", saved, limit, n, err, want)
	}
}

// closed checks a cache that was closed, for some time.
func (r *round) closed() {
	synctest.Wait()
	_, begun := r.ledger.quiet()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	s := r.stats()
	if quiet, now := r.ledger.quiet(); !quiet || now > begun && r.options.Amend == nil {
		r.failf("functions of the user run after Close: %d, then %d", begun, now)
	}
	if s.Entries+s.Negatives+s.Callbacks.Queued+s.Callbacks.Running+s.Loads.Running+s.Loads.Queued+s.Expiry.Pending > 0 {
		r.failf("after Close: %+v", s)
	}
	r.checkGets()
	r.checkTold(s)
}

// checkTold compares the events with the statistics.
func (r *round) checkTold(s stats.Snapshot) {
	if s.Removals.Total() != s.Sets+s.Restored {
		r.failf("%+v values left, but %d were stored and %d restored", s.Removals, s.Sets, s.Restored)
	}
	l := r.ledger
	if r.options.OnRemoveSync != nil && !r.crowded && uint64(len(l.toldSync)) != s.Removals.Total() {
		r.failf("OnRemoveSync was told of %d values, and %+v left", len(l.toldSync), s.Removals)
	}
	if r.options.OnRemove == nil {
		return
	}
	restored := uint64(0)
	for id := range l.told {
		if l.restored[id] {
			restored++
		}
	}
	if s.Callbacks.Panics != l.outburst {
		r.failf("OnRemove and OnRemoveSync ended %d times in a panic or Goexit, and the statistics say %d", l.outburst, s.Callbacks.Panics)
	}
	if r.crowded { // most of a crowd are not noted
		return
	}
	if uint64(len(l.told)) != s.Removals.Total() {
		r.failf("OnRemove was told of %d values, and %+v left", len(l.told), s.Removals)
	}
	if restored != s.Restored {
		r.failf("OnRemove was told of %d values of Restore, which has stored %d", restored, s.Restored)
	}
}

// counted takes a snapshot of the statistics. No counter may be less than in one that was
// taken before.
func (c *call) counted() {
	before := c.last.Load()
	s := c.cache.Stats()
	c.last.Store(&s)
	if before != nil {
		compare(reflect.ValueOf(*before), reflect.ValueOf(s), "Stats", func(field string, was, is uint64) {
			c.failf("%s was %d, and is %d", field, was, is)
		})
	}
}

// compare calls fell for each counter that is less than it was.
func compare(was, is reflect.Value, name string, fell func(field string, was, is uint64)) {
	switch was.Kind() {
	case reflect.Struct:
		for i := range was.NumField() {
			field := was.Type().Field(i).Name
			switch field {
			case "Weight", "MaxWeight", "WhatIf", "Near": // gauges, estimates
			default:
				compare(was.Field(i), is.Field(i), name+"."+field, fell)
			}
		}
	case reflect.Array:
		for i := range was.Len() {
			compare(was.Index(i), is.Index(i), fmt.Sprintf("%s[%d]", name, i), fell)
		}
	case reflect.Uint64:
		if is.Uint() < was.Uint() || is.Uint() > 1<<62 {
			fell(name, was.Uint(), is.Uint())
		}
	}
}

// bounded checks the number of entries.
func (c *call) bounded(entries int) {
	if limit := c.options.Limit; limit > 0 && entries > limit && !c.resized.Load() {
		c.failf("%d entries, with a limit of %d", entries, limit)
	}
}
