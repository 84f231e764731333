package redis_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
	"pgregory.net/rapid"
)

// aged returns an item that is due 12 s before its end, and stays for an hour after that.
func aged(value string) near.Item {
	return near.Item{State: near.Found, Value: []byte(value), TTL: time.Minute, Due: 12 * time.Second, Grace: time.Hour}
}

// about reports whether a time is the wanted one, or a little less.
func about(got, want time.Duration) bool { return got <= want && got > want-10*time.Second }

// Catches: a value with an age that comes back changed, or with another age.
func TestAgedValues(t *testing.T) {
	r := open(t, redis.Options{}, server(t).Addr)
	values := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SampledFrom([][]byte{
		nil, []byte("\n"), []byte("1 2 3 -\n"), []byte("\x00near\x00-"), []byte("\x00near\x00+1 2 3 -\n"), []byte("\x00near\x00?token"),
	}))
	rapid.Check(t, func(rt *rapid.T) {
		item := near.Item{State: near.Found, Value: values.Draw(rt, "value"), TTL: time.Minute}
		item.Due = rapid.SampledFrom([]time.Duration{0, 12 * time.Second}).Draw(rt, "due")
		item.Grace = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "grace")
		check(t, r.Set(t.Context(), "user:a", item))
		got := get(t, r, "user:a")
		if got.State != near.Found || !bytes.Equal(got.Value, item.Value) || got.Due != item.Due || got.Grace != item.Grace || !about(got.TTL, item.TTL) {
			rt.Errorf("%+v became %+v", item, got)
		}
	})
}

// Catches: a lease on a value that is not due; one for two; a value that is lost or changed by its
// lease; one that is filled after the key was changed; a lease that never ends.
func TestLeaseOnAgedValues(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	lease := func() near.Item {
		t.Helper()
		items, err := r.Lease(ctx, time.Minute, "user:a")
		check(t, err)
		return items[0]
	}
	// Times count back from the end of the key, so moving that makes the item older.
	left := func(d time.Duration) {
		t.Helper()
		do(t, s, "PEXPIRE", "user:a", strconv.FormatInt(d.Milliseconds(), 10))
	}
	const due, over = time.Hour + 11*time.Second, 50 * time.Minute

	check(t, r.Set(ctx, "user:a", aged("one")))
	if got := lease(); got.Token != "" || got.Holder != "" || string(got.Value) != "one" || !about(got.TTL, time.Minute) {
		t.Errorf("fresh: %+v", got)
	}
	for _, at := range []time.Duration{due, over} {
		check(t, r.Set(ctx, "user:a", aged("one")))
		left(at)
		mine := lease()
		if mine.State != near.Found || mine.Token == "" || mine.Holder != "" || string(mine.Value) != "one" || !about(mine.TTL, at-time.Hour) {
			t.Fatalf("with %v left: %+v", at, mine)
		}
		for _, got := range []near.Item{lease(), get(t, r, "user:a")} {
			if got.Holder != mine.Token || got.Token != "" || string(got.Value) != "one" || !about(got.TTL, at-time.Hour) || got.Grace != time.Hour || got.Due != 12*time.Second {
				t.Errorf("leased by another: %+v", got)
			}
		}
		if filled, err := r.Fill(ctx, "user:a", "other", aged("other")); filled || err != nil {
			t.Errorf("filled by another: %v, %v", filled, err)
		}
		left(at - time.Minute - time.Second)
		if next := lease(); next.Token == "" || next.Token == mine.Token {
			t.Errorf("after the lease: %+v", next)
		} else {
			mine = next
		}
		check(t, r.Release(ctx, "user:a", "other"))
		check(t, r.Release(ctx, "user:a", mine.Token))
		if got := lease(); got.Holder != near.Paused || got.Token != "" || string(got.Value) != "one" || !about(got.TTL, at-time.Hour-time.Minute) {
			t.Errorf("released: %+v", got)
		}
		if filled, err := r.Fill(ctx, "user:a", mine.Token, aged("late")); filled || err != nil {
			t.Errorf("filled after Release: %v, %v", filled, err)
		}
		left(at - 2*time.Minute - 2*time.Second)
		mine = lease()
		if filled, err := r.Fill(ctx, "user:a", mine.Token, aged("two")); !filled || err != nil {
			t.Errorf("Fill: %v, %v", filled, err)
		}
		if got := get(t, r, "user:a"); string(got.Value) != "two" || !about(got.TTL, time.Minute) || got.Holder != "" {
			t.Errorf("filled: %+v", got)
		}
	}

	for name, away := range map[string]func(){
		"Del":         func() { check(t, r.Del(ctx, "user:a")) },
		"Set":         func() { check(t, r.Set(ctx, "user:a", aged("newer"))) },
		"foreign DEL": func() { do(t, s, "DEL", "user:a") },
		"foreign SET": func() { do(t, s, "SET", "user:a", "newer") },
	} {
		check(t, r.Set(ctx, "user:a", aged("one")))
		left(over)
		mine := lease()
		away()
		before := get(t, r, "user:a")
		if filled, err := r.Fill(ctx, "user:a", mine.Token, aged("late")); filled || err != nil {
			t.Errorf("after %s: %v, %v", name, filled, err)
		}
		check(t, r.Release(ctx, "user:a", mine.Token))
		if after := get(t, r, "user:a"); after.State != before.State || !bytes.Equal(after.Value, before.Value) || after.Holder != before.Holder {
			t.Errorf("after %s: %+v became %+v", name, before, after)
		}
	}

	check(t, r.Set(ctx, "user:a", aged("one")))
	do(t, s, "PERSIST", "user:a")
	if got := lease(); got.TTL != 0 || got.Due != 0 || got.Grace != 0 || got.Token != "" || string(got.Value) != "one" {
		t.Errorf("without an end: %+v", got)
	}
}

// Catches: an instance of an earlier version, which knows no ages, that fails on a value of this
// one or returns it wrongly; and the reverse.
func TestEarlierVersions(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	o := near.Options[string, string]{Prefix: "user:", Expire: time.Minute}
	old, err := near.New(earlier{r, s.Addr, t}, r, o)
	check(t, err)
	defer old.Close(ctx)
	o.Grace, o.Refresh = time.Hour, 0.8
	now, err := near.New(r, r, o)
	check(t, err)
	defer now.Close(ctx)
	take := func(what string, c *near.Cache[string, string], fetch, want string) {
		t.Helper()
		if got, err := c.Take(ctx, "k", func(context.Context) (string, error) { return fetch, nil }); got != want || err != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	take("by this version", now, "1", "1")
	take("which the earlier one cannot read", old, "2", "2")
	take("that of the earlier one", now, "3", "2")
	if got := get(t, r, "user:k"); got.Grace != 0 || got.Due != 0 || !about(got.TTL, time.Minute) {
		t.Errorf("of the earlier version: %+v", got)
	}
	check(t, now.Set(ctx, "k", "4"))
	if _, _, err := old.Get(ctx, "k"); err == nil {
		t.Error("the earlier version reads an age as a value")
	}
	check(t, old.Del(ctx, "k"))
	if got := get(t, r, "user:k"); got.State != near.Missing {
		t.Errorf("removed by the earlier version: %+v", got)
	}
}

// earlier reads what Redis has as the versions before ages did: what they do not know is a value.
type earlier struct {
	*redis.Redis
	addr string
	t    *testing.T
}

func (e earlier) raw(items []near.Item, keys []string) ([]near.Item, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{e.addr}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for i, item := range items {
		if item.State == near.Found {
			if items[i].Value, err = client.Do(e.t.Context(), client.B().Get().Key(keys[i]).Build()).AsBytes(); err != nil {
				return nil, err
			}
			items[i].TTL += item.Grace
			items[i].Due, items[i].Grace = 0, 0
		}
	}
	return items, nil
}

func (e earlier) Get(ctx context.Context, keys ...string) ([]near.Item, error) {
	items, err := e.Redis.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	return e.raw(items, keys)
}

func (e earlier) Lease(ctx context.Context, life time.Duration, keys ...string) ([]near.Item, error) {
	items, err := e.Redis.Lease(ctx, life, keys...)
	if err != nil {
		return nil, err
	}
	return e.raw(items, keys)
}
