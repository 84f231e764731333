package redis_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
	"pgregory.net/rapid"
)

func found(value string) near.Item { return near.Item{State: near.Found, Value: []byte(value)} }

// get reads one key.
func get(t testing.TB, s near.Store, key string) near.Item {
	t.Helper()
	items, err := s.Get(t.Context(), key)
	check(t, err)
	return items[0]
}

// Catches: a value that comes back changed, also one that looks like a mark of the store.
func TestStoreKeepsEveryByte(t *testing.T) {
	r := open(t, redis.Options{}, server(t).Addr)
	values := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.StringN(0, 4, -1), func(s string) []byte { return []byte("\x00near\x00" + s) }),
		rapid.SampledFrom([][]byte{nil, []byte("\x00near\x00-"), []byte("\x00near\x00?token"), []byte("\x00near\x00=\x00near\x00"), bytes.Repeat([]byte("x"), 1<<20)}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		key, value := "user:"+rapid.StringN(0, 20, -1).Draw(rt, "key"), values.Draw(rt, "value")
		check(t, r.Set(t.Context(), key, near.Item{State: near.Found, Value: value}))
		if got := get(t, r, key); got.State != near.Found || !bytes.Equal(got.Value, value) || got.TTL != 0 {
			rt.Errorf("%q: %+v", key, got)
		}
	})
}

// Catches: a batch in another order, a state that is mixed up, a TTL that is not told.
func TestStoreAnswers(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	check(t, r.Set(ctx, "user:1", near.Item{State: near.Found, Value: []byte("one"), TTL: time.Minute}))
	check(t, r.Set(ctx, "user:2", near.Item{State: near.Absent, TTL: time.Second}))
	do(t, s, "SET", "user:foreign", "raw")
	if _, err := r.Lease(ctx, time.Minute, "user:leased"); err != nil {
		t.Fatal(err)
	}
	items, err := r.Get(ctx, "user:none", "user:2", "user:foreign", "user:1", "user:leased")
	check(t, err)
	for i, want := range []struct {
		state near.State
		value string
		ttl   time.Duration
	}{{near.Missing, "", 0}, {near.Absent, "", time.Second}, {near.Found, "raw", 0}, {near.Found, "one", time.Minute}, {near.Leased, "", time.Minute}} {
		if got := items[i]; got.State != want.state || string(got.Value) != want.value || got.TTL > want.ttl || got.TTL < want.ttl*9/10 {
			t.Errorf("item %d is %+v, want %+v", i, got, want)
		}
	}
	check(t, r.Del(ctx, "user:1", "user:2", "user:none"))
	if got := get(t, r, "user:1"); got.State != near.Missing {
		t.Errorf("after Del: %+v", got)
	}
	do(t, s, "HSET", "user:hash", "f", "1")
	if _, err := r.Get(ctx, "user:hash"); err == nil || !strings.Contains(err.Error(), "user:hash") {
		t.Errorf("a hash is %v", err)
	}
	if _, err := r.Lease(ctx, 0, "user:1"); err == nil {
		t.Error("a lease of no time is no error")
	}
	do(t, s, "SCRIPT", "FLUSH") // as after a restart
	if items, err := r.Lease(ctx, time.Minute, "user:a", "user:foreign"); err != nil || items[0].Token == "" || items[1].State != near.Found {
		t.Errorf("after SCRIPT FLUSH: %+v, %v", items, err)
	}
}

// Catches: a fill after the lease was taken away, by any client; a lease for two; one that
// outlives its holder.
func TestLease(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	lease := func(key string, life time.Duration) string {
		t.Helper()
		items, err := r.Lease(ctx, life, key)
		check(t, err)
		if items[0].State != near.Missing || items[0].Token == "" {
			t.Fatalf("%s: %+v, want a lease", key, items[0])
		}
		return items[0].Token
	}
	for name, away := range map[string]func(key string){
		"Del":           func(key string) { check(t, r.Del(ctx, key)) },
		"Set":           func(key string) { check(t, r.Set(ctx, key, found("newer"))) },
		"foreign DEL":   func(key string) { do(t, s, "DEL", key) },
		"foreign SET":   func(key string) { do(t, s, "SET", key, "newer") },
		"another lease": func(key string) { do(t, s, "DEL", key); lease(key, time.Minute) },
		"FLUSHALL":      func(string) { do(t, s, "FLUSHALL") },
	} {
		key := "user:" + name
		token := lease(key, time.Minute)
		away(key)
		before := get(t, r, key)
		if filled, err := r.Fill(ctx, key, token, found("late")); err != nil || filled {
			t.Errorf("%s: a late fill is %v, %v", name, filled, err)
		}
		check(t, r.Release(ctx, key, token))
		if after := get(t, r, key); after.State != before.State || !bytes.Equal(after.Value, before.Value) {
			t.Errorf("%s: %+v became %+v", name, before, after)
		}
	}

	token := lease("user:1", time.Minute)
	if items, err := r.Lease(ctx, time.Minute, "user:1"); err != nil || items[0].State != near.Leased || items[0].Token != "" || items[0].Holder != token {
		t.Errorf("a second lease is %+v, %v", items, err)
	}
	if filled, err := r.Fill(ctx, "user:1", token, near.Item{State: near.Absent, TTL: time.Minute}); err != nil || !filled {
		t.Errorf("a fill is %v, %v", filled, err)
	}
	if got := get(t, r, "user:1"); got.State != near.Absent || got.TTL == 0 {
		t.Errorf("filled: %+v", got)
	}
	check(t, r.Release(ctx, "user:2", lease("user:2", time.Minute)))
	lease("user:2", time.Millisecond) // whose holder dies
	for get(t, r, "user:2").State == near.Leased {
		time.Sleep(time.Millisecond)
	}
	lease("user:2", time.Minute)
}

// Catches: a lease that somebody made endless (PERSIST, a tool that copies keys without their TTLs)
// and that keeps all instances waiting for its key for ever; a value without a TTL that is taken for
// such a lease.
func TestLeaseWithoutAnEnd(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	take := func(keys ...string) []near.Item {
		t.Helper()
		items, err := r.Lease(ctx, time.Minute, keys...)
		check(t, err)
		return items
	}
	first := take("user:1")[0]
	do(t, s, "PERSIST", "user:1")
	second := take("user:1")[0]
	if second.State != near.Missing || second.Token == "" || second.Token == first.Token {
		t.Fatalf("%+v, want a lease", second)
	}
	if filled, err := r.Fill(ctx, "user:1", first.Token, found("late")); err != nil || filled {
		t.Errorf("a fill by the lease that was taken over is %v, %v", filled, err)
	}
	if third := take("user:1")[0]; third.State != near.Leased || third.TTL == 0 {
		t.Errorf("then %+v, want a lease of another that ends", third)
	}
	if filled, err := r.Fill(ctx, "user:1", second.Token, found("new")); err != nil || !filled {
		t.Errorf("a fill is %v, %v", filled, err)
	}

	check(t, r.Set(ctx, "absent", near.Item{State: near.Absent}))
	check(t, r.Set(ctx, "value", found("\x00near\x00?x"))) // looks like a lease
	do(t, s, "SET", "foreign", "x")
	for i, item := range take("absent", "value", "foreign") {
		if item.Token != "" || item.State == near.Leased || item.TTL != 0 {
			t.Errorf("number %d without a TTL: %+v", i, item)
		}
	}
}

// Catches: two holders of one lease.
func TestOneLeaseForAll(t *testing.T) {
	r := open(t, redis.Options{}, server(t).Addr)
	var holders atomic.Int32
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			items, err := r.Lease(t.Context(), time.Minute, "user:1")
			if err != nil {
				t.Error(err)
			} else if items[0].Token != "" {
				holders.Add(1)
			}
		})
	}
	callers.Wait()
	if n := holders.Load(); n != 1 {
		t.Errorf("%d hold the lease", n)
	}
}

// Catches: a client that is closed while it is used, when the source connects again; a store
// that works after Close.
func TestStoreWhileTheSourceReconnects(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	w := neartest.Record(t, r, lag)
	stop := make(chan struct{})
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := r.Get(context.Background(), "user:1"); err != nil {
					t.Errorf("Get: %v", err)
					return
				}
			}
		})
	}
	end := sync.OnceFunc(func() { close(stop); users.Wait() })
	defer end()
	for range 5 {
		w.AwaitAgain(t, "the reconnect", func() {
			id := trackerID(t, s)
			do(t, s, "CLIENT", "KILL", "ID", id)
		})
	}
	end()
	r.Close()
	if err := r.Set(t.Context(), "user:1", found("1")); err == nil {
		t.Error("Set after Close is no error")
	}
}

// Catches: a server that refuses writes and is taken for one that cannot be asked.
func TestRefusesWrites(t *testing.T) {
	for name, setting := range map[string][2]string{"memory": {"maxmemory", "1"}, "replicas": {"min-replicas-to-write", "1"}} {
		s := server(t)
		r := open(t, redis.Options{}, s.Addr)
		check(t, r.Set(t.Context(), "user:there", found("1")))
		do(t, s, "CONFIG", "SET", setting[0], setting[1])
		items, err := r.Lease(t.Context(), time.Minute, "user:there", "user:not")
		if err != nil || string(items[0].Value) != "1" || items[1].State != near.Missing || items[1].Token != "" {
			t.Errorf("%s: %+v, %v", name, items, err)
		}
		if err := r.Set(t.Context(), "user:there", found("2")); err == nil {
			t.Errorf("%s: it was written", name)
		}
	}
}

// Catches: a service that does not start while Redis is down, though the options say that it
// shall; one that starts although Redis refuses it.
func TestStartWithoutRedis(t *testing.T) {
	s := server(t)
	s.Kill()
	o := redis.Options{StartWithoutRedis: true}
	r := open(t, o, s.Addr)
	if _, err := r.Get(t.Context(), "user:1"); err == nil {
		t.Error("it was read")
	}
	w := neartest.NewRecorder(lag)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { r.Watch(ctx, w); close(done) }()
	defer func() { stop(); <-done }()
	w.Await(t, "Lost", func() bool { return len(w.Losts) > 0 })
	check(t, s.Restart())
	w.Await(t, "Current", func() bool { return w.Served })
	check(t, r.Set(t.Context(), "user:1", found("1")))
	w.AwaitKey(t, "user:1")

	do(t, s, "ACL", "SETUSER", "blind", "on", ">pw", "~*", "&*", "+@all", "-client|tracking")
	o.Prefixes, o.Client = []string{"user:"}, rueidis.ClientOption{InitAddress: []string{s.Addr}, Username: "blind", Password: "pw"}
	if _, err := redis.New(t.Context(), o); err == nil {
		t.Error("a user without rights is no error")
	}
}

// Catches: a New that goes on when its context has ended.
func TestNewHeedsItsContext(t *testing.T) {
	s := server(t)
	check(t, s.Pause())
	defer s.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	o := redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{InitAddress: []string{s.Addr}, Dialer: net.Dialer{Timeout: time.Minute}, ConnWriteTimeout: time.Minute}}
	began := time.Now()
	if _, err := redis.New(ctx, o); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
