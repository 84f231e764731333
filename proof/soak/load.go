package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

var (
	errFetch = errors.New("soak: fetch failed")
	errPanic = errors.New("soak: fetch panicked")
	errLeft  = errors.New("soak: the caller left")
)

// A loader is the fetch of one call of Take.
type loader[K comparable, V any] struct {
	t         *target[K, V]
	key       int
	before    view   // taken before the call
	since     moment // likewise
	behaviour behaviour
	pause     time.Duration
	ran       atomic.Pointer[change] // set when it returns a value
	running   atomic.Bool
}

func (t *target[K, V]) loader(h *hand, key int) *loader[K, V] {
	l := &loader[K, V]{t: t, key: key}
	switch n := h.rng.IntN(64); {
	case n < 2 && !h.inCallback:
		l.behaviour = panicking
	case n < 3 && !h.inCallback:
		l.behaviour = exiting
	case n < 8:
		l.behaviour = failing
	case n < 12 && !h.inCallback:
		l.behaviour = slow
	}
	l.pause = time.Duration(h.rng.IntN(2000)) * time.Microsecond
	l.before, l.since = t.records[key].look(), t.records[key].moment()
	return l
}

// fetch is the function that the cache calls.
func (l *loader[K, V]) fetch(ctx context.Context) (value V, err error) {
	t, r := l.t, &l.t.records[l.key]
	t.fetching.Add(1)
	defer t.fetching.Add(-1)
	defer t.fetches.Add(1)
	l.running.Store(true)
	c, wrong := r.begin(load, t.life(t.options.Expire, false), l.since)
	t.wrong(l.key, "Take", wrong)
	failed := true
	defer func() {
		if failed {
			t.wrong(l.key, "Take", r.kept(&c))
		}
	}()
	switch l.behaviour {
	case slow:
		select {
		case <-ctx.Done():
		case <-time.After(l.pause):
		}
	case panicking:
		panic(errPanic)
	case exiting:
		runtime.Goexit()
	case failing:
		return value, errFetch
	}
	failed = false
	t.wrong(l.key, "Take", r.fetched(&c))
	l.ran.Store(&c)
	return t.value(l.key, &c), nil
}

func (t *target[K, V]) take(h *hand, key int) {
	l := t.loader(h, key)
	t.call(h, l, func() (V, error) {
		return t.store.Take(t.keys[key], func() (V, error) { return l.fetch(context.Background()) })
	})
}

// takeCtx is take with a context that may end at any time.
func (t *target[K, V]) takeCtx(h *hand, key int) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	switch h.rng.IntN(4) {
	case 0:
		cancel(errLeft)
	case 1:
		defer time.AfterFunc(time.Duration(h.rng.IntN(1000))*time.Microsecond, func() { cancel(errLeft) }).Stop()
	}
	l := t.loader(h, key)
	t.call(h, l, func() (V, error) { return t.store.TakeCtx(ctx, t.keys[key], l.fetch) })
}

// call calls Take, in another goroutine if the fetch may end it.
func (t *target[K, V]) call(h *hand, l *loader[K, V], take func() (V, error)) {
	h.gets++
	if l.behaviour != exiting {
		t.judgeTake(l, take)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.judgeTake(l, take)
	}()
	<-done
}

// judgeTake checks the answer of Take.
func (t *target[K, V]) judgeTake(l *loader[K, V], take func() (V, error)) {
	r := &t.records[l.key]
	defer func() {
		if p := recover(); p != nil && (p != error(errPanic) || l.behaviour != panicking) {
			t.wrong(l.key, "Take", fmt.Sprintf("it panicked: %v", p))
		}
	}()
	tb := now()
	value, err := take()
	if err != nil {
		t.judgeError(l, err)
		return
	}
	number := t.numberOf(l.key, "Take", value)
	t.wrong(l.key, "Take", r.judge(l.before, tb, now(), number, true))
	if c := l.ran.Load(); c != nil && c.number == number {
		r.returned(c, l.before.sure && c.version == l.before.begun+1)
	}
}

// judgeError checks that an error of Take is that of a fetch or of a context.
func (t *target[K, V]) judgeError(l *loader[K, V], err error) {
	var p *cache.PanicError
	switch {
	case err == errFetch, err == cache.ErrGoexit, err == errLeft:
	case errors.As(err, &p) && p.Value == error(errPanic):
	default:
		t.wrong(l.key, "Take", fmt.Sprintf("the error is %v", err))
	}
}
