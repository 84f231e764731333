package near_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// A revoker is a store that revokes; told has a watcher be told of that, or is nil.
type revoker struct {
	*server
	told func(keys ...string)
	err  error
}

func (r *revoker) Revoke(ctx context.Context, keys ...string) (near.Revocation, error) {
	if err := r.Del(ctx, keys...); err != nil {
		return near.Revocation{}, err
	}
	if r.told != nil {
		r.told(keys...)
	}
	return near.Revocation{Instances: 2, Silent: 1, Waited: true}, r.err
}

// TestRevoke checks what a Revoke does in the instance that calls it, and what it returns.
func TestRevoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &rig{t: t, server: newServer(), hand: new(hand), value: "old"}
		store := &revoker{server: r.server}
		r.Cache = r.join(store, near.Options[string, string]{Prefix: "p:", Timeout: time.Millisecond})
		settled(r)
		r.want("a miss", "old", 1, 1)
		r.value = "new"
		how, err := r.RevokeReport(t.Context(), "k")
		if err != nil || how != (near.Revocation{Instances: 2, Silent: 1, Waited: true}) {
			t.Errorf("%+v, %v", how, err)
		}
		r.want("after it", "new", 1, 1)
		store.err = errServer
		if err := r.Revoke(t.Context(), "k"); !errors.Is(err, near.ErrStore) || !errors.Is(err, errServer) {
			t.Errorf("with an error: %v", err)
		}
		r.value = "newer"
		r.want("after an error", "newer", 1, 1)
		if err := r.Revoke(t.Context()); err != nil {
			t.Errorf("without keys: %v", err)
		}
		if err := newRig(t, near.Options[string, string]{}).Revoke(t.Context(), "k"); !errors.Is(err, near.ErrNoRevoke) {
			t.Errorf("a store that knows nobody: %v", err)
		}
	})
}

// TestRevoked checks that an instance which was told of a revocation has nothing of before: neither
// what is in memory, nor what an age would allow, nor a load under way, nor an error that is kept.
func TestRevoked(t *testing.T) {
	errDenied := errors.New("denied")
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{Negative: func(error) time.Duration { return time.Hour }})
		r.value = "old"
		r.within("loaded", time.Hour, "old", 1)
		r.value = "new"
		r.server.drop("k") // nobody tells
		r.within("an age allows it", time.Hour, "old", 0)
		near.Revoked(r.hand.Watcher, "k", "other")
		r.within("revoked", time.Hour, "new", 1)

		r.err = errDenied
		r.server.drop("k")
		near.Revoked(r.hand.Watcher, "k")
		for range 2 {
			if _, err := r.Take(t.Context(), "k", r.fetch); !errors.Is(err, errDenied) {
				t.Error(err)
			}
		}
		r.err = nil
		if _, err := r.Take(t.Context(), "k", r.fetch); !errors.Is(err, errDenied) {
			t.Errorf("%v: the error was not kept", err)
		}
		near.Revoked(r.hand.Watcher, "k")
		r.want("after the error was revoked", "new", 1, 1)
	})
	bubble(t, func(t *testing.T) {
		h := new(hand)
		l := newLocal(t, h)
		value := "old"
		load := func(context.Context, *cache.Load[string]) (string, error) {
			read := value
			time.Sleep(time.Second / 2)
			return read, nil
		}
		var callers sync.WaitGroup
		call := func(want string) {
			callers.Go(func() {
				if got, err := l.TakeWithin(t.Context(), "k", time.Hour, load); got != want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			})
			synctest.Wait()
		}
		call("old")
		value = "new"
		near.Revoked(h.Watcher, "k")
		call("new")
		callers.Wait()
	})
	var told recorded
	near.Revoked(&told, "a", "b")
	if strings.Join(told.keys, " ") != "a b" {
		t.Errorf("a watcher that knows no revocations was told %q", told.keys)
	}
}

// A recorded keeps the keys that have changed.
type recorded struct {
	near.Watcher
	keys []string
}

func (r *recorded) Changed(keys ...string) { r.keys = append(r.keys, keys...) }

// TestStrict checks that with Strict nothing is served MaxLag after the last moment that was vouched
// for, also not what was loaded since: a load is shared only with those who came before it began.
func TestStrict(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{Strict: true})
		r.store("k", "1", 0)
		r.want("a miss", "1", 1, 0)
		r.want("a hit", "1", 0, 0)
		r.store("k", "2", 0)
		time.Sleep(time.Second)
		r.want("at MaxLag", "1", 0, 0)
		time.Sleep(time.Nanosecond)
		r.want("later", "2", 1, 0)
		r.store("k", "3", 0)
		r.want("again", "3", 1, 0)
		r.hand.vouch()
		r.hand.Changed("k")
		r.want("vouched for", "3", 1, 0)
		r.want("a hit", "3", 0, 0)
	})
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{Strict: true, Away: near.Bypass})
		r.silence()
		r.server.fail = func(string) bool { return true }
		value := "old"
		slow := func(context.Context) (string, error) {
			read := value
			time.Sleep(time.Second / 2)
			return read, nil
		}
		var callers sync.WaitGroup
		call := func(take func() (string, error), want string) {
			callers.Go(func() {
				if got, err := take(); got != want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			})
			time.Sleep(time.Nanosecond)
			synctest.Wait()
		}
		take := func() (string, error) { return r.Take(t.Context(), "k", slow) }
		many := func() (string, error) {
			got, err := r.TakeMany(t.Context(), []string{"k"}, func(ctx context.Context, _ []string) (map[string]string, error) {
				value, err := slow(ctx)
				return map[string]string{"k": value}, err
			})
			return got["k"], err
		}
		call(take, "old")
		call(many, "new") // it waits for the load that began before it came, and then loads anew
		value = "new"
		call(take, "new")
		call(many, "new")
		callers.Wait()
		value = "newer"
		call(take, "newer")
		call(many, "newer")
		callers.Wait()
	})
}

// TestStrictRefusesServeOn checks that Strict is not combined with what serves old values.
func TestStrictRefusesServeOn(t *testing.T) {
	_, err := near.New(newServer(), new(hand), near.Options[string, string]{Strict: true, ServeOn: time.Minute})
	if !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), "with Strict") {
		t.Error(err)
	}
}

// TestClosedServesNothing checks that nothing is served from memory once Close has begun, so that a
// source may tell others that this instance is gone.
func TestClosedServesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &lingering{hand: new(hand)}
		l := newLocal(t, h)
		load := func(context.Context, *cache.Load[string]) (string, error) { return "v", nil }
		l.Take(t.Context(), "k", load)
		h.ending = func() {
			if _, ok := l.Get("k"); ok {
				t.Error("a value is served while the watch ends")
			}
			h.ChangedAll()
			h.vouch()
			h.Lost(nil)
			l.Take(t.Context(), "k", load)
			if _, ok := l.Get("k"); ok {
				t.Error("the watch has brought it back")
			}
		}
		l.Close(t.Context())
	})
}

// A lingering hand calls a function when its watch is to end.
type lingering struct {
	*hand
	ending func()
}

func (l *lingering) Watch(ctx context.Context, w near.Watcher) {
	l.hand.Watch(ctx, w)
	if l.ending != nil {
		l.ending()
	}
}
