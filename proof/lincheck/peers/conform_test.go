package main

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// A walk uses a cache at random.
type walk struct {
	t    *testing.T
	s    *lincheck.Subject
	has  map[int]int64 // what the cache must hold
	rand *rand.Rand
	made int64
}

// step does one operation, and then reads the key.
func (w *walk) step() {
	key := w.rand.IntN(5)
	w.made++
	kinds := []lincheck.Kind{
		lincheck.Set, lincheck.SetWithExpire, lincheck.Del, lincheck.Touch, lincheck.GetOrSet, lincheck.Take,
		lincheck.Compute, lincheck.Clear,
	}
	kind := kinds[w.rand.IntN(len(kinds))]
	if !w.s.Has(kind) || kind == lincheck.Clear && w.rand.IntN(10) > 0 {
		return
	}
	w.do(kind, key)
	if w.s.Settle != nil {
		w.s.Settle()
	}
	w.look(w.s.Get, kind, key)
	if w.s.Peek != nil {
		w.look(w.s.Peek, kind, key)
	}
}

func (w *walk) look(get func(int) (int64, bool), after lincheck.Kind, key int) {
	want, has := w.has[key]
	if got, ok := get(key); got != want || ok != has {
		w.t.Fatalf("after %v of %d, %d, %t are found, want %d, %t", after, key, got, ok, want, has)
	}
}

// is fails the test unless an answer is what it should be.
func (w *walk) is(kind lincheck.Kind, got int64, ok bool, want int64, has bool) {
	w.t.Helper()
	if got != want || ok != has {
		w.t.Fatalf("%v = %d, %t, want %d, %t", kind, got, ok, want, has)
	}
}

func (w *walk) do(kind lincheck.Kind, key int) {
	old, had := w.has[key]
	switch kind {
	case lincheck.Set:
		w.s.Set(key, w.made)
		w.has[key] = w.made
	case lincheck.SetWithExpire:
		w.s.SetWithExpire(key, w.made, time.Hour*time.Duration(w.rand.IntN(2))) // 0 is for ever
		w.has[key] = w.made
	case lincheck.Del:
		w.del(key, had)
	case lincheck.Touch:
		w.touch(key, had)
	case lincheck.GetOrSet:
		got, loaded := w.s.GetOrSet(key, w.made)
		if !had {
			w.has[key] = w.made
		}
		w.is(kind, got, loaded, w.has[key], had)
	case lincheck.Take:
		w.take(key, old, had)
	case lincheck.Compute:
		w.compute(key, old, had)
	case lincheck.Clear:
		w.s.Clear()
		clear(w.has)
	}
}

func (w *walk) del(key int, had bool) {
	delete(w.has, key)
	if w.s.Del == nil {
		w.s.Remove(key)
		return
	}
	w.is(lincheck.Del, 0, w.s.Del(key), 0, had)
}

func (w *walk) touch(key int, had bool) {
	if w.s.Touch == nil {
		w.s.Renew(key, time.Hour)
		return
	}
	w.is(lincheck.Touch, 0, w.s.Touch(key, time.Hour), 0, had)
}

var errFetch = errors.New("fetch")

func (w *walk) take(key int, old int64, had bool) {
	fail, fetched := w.rand.IntN(3) == 0, false
	got, err := w.s.Take(key, func() (int64, error) {
		if fetched = true; fail {
			return 0, errFetch
		}
		return w.made, nil
	})
	switch {
	case had == fetched:
		w.t.Fatalf("Take fetched: %t; there was an entry: %t", fetched, had)
	case had:
		w.is(lincheck.Take, got, err == nil, old, true)
	case fail:
		if !errors.Is(err, errFetch) {
			w.t.Fatalf("Take returned %v, want what fetch did", err)
		}
	default:
		w.is(lincheck.Take, got, err == nil, w.made, true)
		w.has[key] = w.made
	}
}

func (w *walk) compute(key int, old int64, had bool) {
	does := []lincheck.Action{lincheck.Keep, lincheck.Store, lincheck.Delete}[w.rand.IntN(3)]
	got, ok := w.s.Compute(key, func(value int64, found bool) (int64, lincheck.Action) {
		w.is(lincheck.Compute, value, found, old, had)
		return w.made, does
	})
	switch does {
	case lincheck.Store:
		w.has[key] = w.made
	case lincheck.Delete:
		delete(w.has, key)
	}
	w.is(lincheck.Compute, got, ok, w.has[key], does == lincheck.Store || does == lincheck.Keep && had)
}
