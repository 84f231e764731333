package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

var (
	errFetch = errors.New("soak: fetch failed")
	errPanic = errors.New("soak: panicked")
	errLeft  = errors.New("soak: the caller left")
)

// A behaviour is what a call of OnRemove or of a fetch does besides its work.
type behaviour uint8

const (
	quick behaviour = iota
	slow
	panicking
	exiting
	failing
	useCache
)

// do takes a while, fails, or does not return.
func (b behaviour) do(ctx context.Context, while time.Duration) error {
	switch b {
	case slow:
		select {
		case <-ctx.Done():
		case <-time.After(while):
		}
	case panicking:
		panic(errPanic)
	case exiting:
		runtime.Goexit()
	case failing:
		return errFetch
	}
	return nil
}

// sometimes returns a function that chooses one of the behaviours for one call in n.
func sometimes(n int, of ...behaviour) func(*rand.Rand) behaviour {
	return func(rng *rand.Rand) behaviour {
		if rng.IntN(n) > 0 {
			return quick
		}
		return of[rng.IntN(len(of))]
	}
}

var (
	ofFetch         = sometimes(5, failing, failing, slow, slow, panicking, exiting)
	ofCallbackFetch = sometimes(12, failing)
)

// batch does n operations, a quarter of them with eight hot keys.
func (t *target[K, V]) batch(h *hand, m *mix, n int) {
	for range n {
		i := h.rng.IntN(t.size)
		if h.rng.Uint32()%4 == 0 {
			i %= 8
		}
		t.operate(h, m.choose(h.rng), i)
	}
}

// operate does one operation with the key of number i.
func (t *target[K, V]) operate(h *hand, o op, i int) {
	h.counts[o]++
	key := t.keys[i]
	var value V
	found := false
	switch o {
	case opGet:
		t.gets.Add(1)
		value, found = t.store.Get(key)
	case opPeek:
		value, found = t.store.Peek(key)
	case opSet:
		t.store.Set(key, t.next(h, i))
	case opSetTTL:
		t.store.SetWithExpire(key, t.next(h, i), t.ttl(h))
	case opTouch:
		t.store.Touch(key, t.ttl(h))
	case opDel:
		t.store.Del(key)
	case opGetOrSet:
		t.gets.Add(1)
		value, _ = t.store.GetOrSet(key, t.next(h, i))
		found = true
	case opCompute:
		value, found = t.store.Compute(key, func(old V, found bool) (V, cache.Op) {
			if found {
				t.own(i, old)
			}
			return t.next(h, i), [...]cache.Op{cache.OpSet, cache.OpSet, cache.OpDelete, cache.OpKeep}[h.rng.Uint32()%4]
		})
	case opTake, opTakeCtx:
		t.take(h, o, i)
	case opLen:
		t.measure()
	}
	if found {
		t.own(i, value)
	}
}

// next returns a new value of the key of number i.
func (t *target[K, V]) next(h *hand, i int) V { return t.value(newID(i, h.rng)) }

// expiries is the time between two moments at which many values expire together.
const expiries = 500 * time.Millisecond

// ttl returns a TTL around that of the options, at least a millisecond.
func (t *target[K, V]) ttl(h *hand) time.Duration {
	if h.together {
		return expiries - now()%expiries
	}
	usual := t.options.Expire
	if usual == 0 {
		usual = time.Second
	}
	switch h.rng.IntN(64) {
	case 0:
		return 0
	case 1:
		return time.Millisecond
	}
	return time.Millisecond + time.Duration(h.rng.Int64N(int64(usual*2)))
}

// take calls Take, or TakeCtx with a context that may end at any time.
func (t *target[K, V]) take(h *hand, o op, i int) {
	// Chosen now: the fetch may go on when the caller has left.
	does, while, value := ofFetch(h.rng), time.Duration(h.rng.IntN(2000))*time.Microsecond, t.next(h, i)
	if h.inCallback {
		does = ofCallbackFetch(h.rng)
	}
	fetch := func(ctx context.Context) (V, error) {
		t.fetching.Add(1)
		defer t.fetching.Add(-1)
		defer t.fetches.Add(1)
		return value, does.do(ctx, while)
	}
	t.gets.Add(1)
	call := func() {
		t.judge(i, func() (V, error) {
			return t.store.Take(t.keys[i], func() (V, error) { return fetch(context.Background()) })
		})
	}
	if o == opTakeCtx {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		switch h.rng.IntN(4) {
		case 0:
			cancel(errLeft)
		case 1:
			defer time.AfterFunc(time.Duration(h.rng.IntN(1000))*time.Microsecond, func() { cancel(errLeft) }).Stop()
		}
		call = func() {
			t.judge(i, func() (V, error) { return t.store.TakeCtx(ctx, t.keys[i], fetch) })
		}
	}
	if does != exiting {
		call()
		return
	}
	done := make(chan struct{})
	go func() { // that the fetch may end
		defer close(done)
		call()
	}()
	<-done
}

// judge checks the answer of a Take.
func (t *target[K, V]) judge(i int, take func() (V, error)) {
	defer func() {
		if p := recover(); p != nil && p != error(errPanic) {
			t.wrong("Take of key %v panicked: %v", t.keys[i], p)
		}
	}()
	value, err := take()
	var p *cache.PanicError
	switch {
	case err == nil:
		t.own(i, value)
	case err == errFetch, err == cache.ErrGoexit, err == errLeft, errors.As(err, &p) && p.Value == error(errPanic):
	default:
		t.wrong("Take of key %v: the error is %v", t.keys[i], err)
	}
}
