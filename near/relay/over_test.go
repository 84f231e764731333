package relay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Catches: a Redis that is read without a vouch, with an old one, or though it has lost what the vouch is about; a
// Set that stores.
func TestVouchedReads(t *testing.T) {
	t.Parallel()
	s, err := redistest.Start()
	redistest.Started(t, s, err)
	client, err := redis.New(t.Context(), redis.Options{
		Client: rueidis.ClientOption{InitAddress: []string{s.Addr}}, Prefixes: []string{"user:"}, Relay: "test",
	})
	check(t, err)
	t.Cleanup(client.Close)
	r, err := Over(client)
	check(t, err)
	ctx, one, other := t.Context(), &listener{}, &listener{}
	vouchFor := func(l *listener, ago time.Duration) {
		r.set(l, vouch{beat: redis.Beat{Relay: "r", Number: 7}, asOf: time.Now().Add(-ago), maxLag: time.Minute})
	}
	last := func(step string) { _, err := s.Do("SET", "pinwheel:relay:test", step); check(t, err) }
	check(t, client.Set(ctx, "user:1", near.Item{State: near.Found, Value: []byte("one")}))
	last("r 7 20")
	for _, c := range []struct {
		what   string
		do     func()
		served bool
	}{
		{"nothing is vouched for", func() {}, false},
		{"a vouch", func() { vouchFor(one, 0) }, true},
		{"a later beat", func() { last("r 8 21") }, true},
		{"Redis has gone back", func() { last("r 6 19") }, false},
		{"another relay", func() { last("s 9 30") }, false},
		{"no relay", func() { last("") }, false},
		{"all is well again", func() { last("r 7 20") }, true},
		{"one of two caches has no vouch", func() { r.set(other, vouch{}) }, false},
		{"both have", func() { vouchFor(other, 0) }, true},
		{"one is old", func() { vouchFor(other, time.Minute) }, false},
		{"it has ended", func() { r.forget(other) }, true},
	} {
		c.do()
		_, got := r.Get(ctx, "user:1")
		_, leased := r.Lease(ctx, time.Minute, "user:1")
		if served := got == nil && leased == nil; served != c.served || !c.served && !(errors.Is(got, ErrNotVouched) && errors.Is(leased, ErrNotVouched)) {
			t.Errorf("%s: Get %v, Lease %v", c.what, got, leased)
		}
	}
	check(t, r.Set(ctx, "user:1", near.Item{State: near.Found, Value: []byte("two")}))
	if items, err := r.Get(ctx, "user:1"); err != nil || items[0].State != near.Missing {
		t.Errorf("after Set: %+v, %v", items, err)
	}
}

// A told is a source whose test says what it tells.
type told func(ctx context.Context, w near.Watcher)

func (f told) Watch(ctx context.Context, w near.Watcher) { f(ctx, w); <-ctx.Done() }

// await waits until a relay is in a state.
func await(t testing.TB, r *Relay, what string, is func(Status) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(r.Status()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s: %+v", what, r.Status())
		}
	}
}

// run runs a relay at a server until the test ends.
func run(t testing.TB, s *redistest.Server, source near.Source) *Relay {
	t.Helper()
	client, err := redis.New(t.Context(), redis.Options{
		Client: rueidis.ClientOption{InitAddress: []string{s.Addr}}, Prefixes: []string{"user:"}, Relay: "test",
	})
	check(t, err)
	t.Cleanup(client.Close)
	r, err := New(Options{Source: source, Redis: client})
	check(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	return r
}

// Catches: a beat though the database was asked before the last one.
func TestBeatsWait(t *testing.T) {
	t.Parallel()
	s, err := redistest.Start()
	redistest.Started(t, s, err)
	watchers := make(chan near.Watcher, 1)
	r := run(t, s, told(func(_ context.Context, w near.Watcher) { watchers <- w }))
	w, asked := <-watchers, time.Now()
	w.ChangedAll()
	w.Current(asked)
	await(t, r, "the first beat", func(s Status) bool { return s.Beats == 1 })
	w.Current(asked.Add(1)) // the beat was acknowledged later
	w.Changed("user:1")
	await(t, r, "the removal", func(s Status) bool { return s.Removed == 1 })
	w.Current(time.Now())
	w.Changed("user:2")
	await(t, r, "the next removal", func(s Status) bool { return s.Removed == 2 })
	await(t, r, "the second beat", func(s Status) bool { return s.Beats == 2 })
	w.Changed("user:3")
	await(t, r, "the last removal", func(s Status) bool { return s.Removed == 3 })
	if got := r.Status(); got.Beats != 2 || got.RemovedAll != 1 || got.Errors != 0 {
		t.Errorf("%+v, want 2 beats", got)
	}
}

// Catches: a relay that goes on, or ends, though Redis has lost its removals.
func TestBeginsAnew(t *testing.T) {
	t.Parallel()
	s, err := redistest.Start()
	redistest.Started(t, s, err)
	r := run(t, s, told(func(ctx context.Context, w near.Watcher) {
		w.ChangedAll()
		for ctx.Err() == nil {
			w.Current(time.Now())
			sleep(ctx, time.Millisecond)
		}
	}))
	await(t, r, "beats", func(s Status) bool { return s.Beats > 2 })
	_, err = s.Do("FLUSHALL")
	check(t, err)
	await(t, r, "a new chain", func(s Status) bool { return s.Takeovers == 2 && s.RemovedAll == 2 && s.Leads && !s.LastBeat.IsZero() })
	if got := r.Status(); !errors.Is(got.LastError, redis.ErrChainBroken) || got.Errors != 1 {
		t.Errorf("%+v, want one error, that the chain is broken", got)
	}
}
