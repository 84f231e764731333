package redis_test

import (
	"bytes"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"pgregory.net/rapid"
)

// Catches: a value, a group or an age that comes back changed; a lease that loses the groups.
func TestGroupedValues(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\n", "=", "&", "tenant:7", "\x00near\x00@"}))
	values := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SampledFrom([][]byte{
		nil, []byte("\n"), []byte("a=b\n"), []byte("\x00near\x00="), []byte("\x00near\x00@a=b\n"), []byte("\x00near\x00+1 2 3 -\n"),
	}))
	rapid.Check(t, func(rt *rapid.T) {
		item := near.Item{State: near.Found, Value: values.Draw(rt, "value"), TTL: time.Minute}
		for _, group := range rapid.SliceOfN(texts, 0, 3).Draw(rt, "groups") {
			item.Groups = append(item.Groups, near.Membership{Group: group, Generation: texts.Draw(rt, "generation")})
		}
		aged := rapid.Bool().Draw(rt, "aged")
		if aged {
			item.Due, item.Grace = 30*time.Second, time.Hour
		}
		check(t, r.Set(ctx, "user:a", item))
		same := func(what string, got near.Item) {
			t.Helper()
			if got.State != near.Found || !bytes.Equal(got.Value, item.Value) || !slices.Equal(got.Groups, item.Groups) || got.Grace != item.Grace {
				rt.Errorf("%s: %+v became %+v", what, item, got)
			}
		}
		same("read", get(t, r, "user:a"))
		if aged {
			do(t, s, "PEXPIRE", "user:a", strconv.FormatInt(time.Hour.Milliseconds(), 10)) // its TTL ends
			items, err := r.Lease(ctx, time.Minute, "user:a")
			check(t, err)
			if items[0].Token == "" {
				rt.Errorf("no lease: %+v", items[0])
			}
			same("leased", items[0])
			same("leased by another", get(t, r, "user:a"))
		}
		check(t, r.Drop(ctx, "user:a", append(slices.Clone(item.Groups), near.Membership{Group: "other"})))
		same("dropped with other groups", get(t, r, "user:a"))
		if len(item.Groups) > 0 {
			check(t, r.Drop(ctx, "user:a", item.Groups))
			if got := get(t, r, "user:a"); got.State != near.Missing {
				rt.Errorf("dropped: %+v", got)
			}
		}
	})
}

// Catches: a lease, a foreign value or nothing that is dropped for an outdated value.
func TestDropSparesOthers(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	ctx := t.Context()
	old := []near.Membership{{Group: "g", Generation: "1.a"}}
	check(t, r.Drop(ctx, "user:none", old))
	items, err := r.Lease(ctx, time.Minute, "user:leased")
	check(t, err)
	do(t, s, "SET", "user:foreign", "raw")
	for _, key := range []string{"user:leased", "user:foreign"} {
		check(t, r.Drop(ctx, key, old))
	}
	if filled, err := r.Fill(ctx, "user:leased", items[0].Token, found("one")); !filled || err != nil {
		t.Errorf("filled after Drop: %v, %v", filled, err)
	}
	if got := get(t, r, "user:foreign"); string(got.Value) != "raw" {
		t.Errorf("%+v", got)
	}
}

// Catches: a number that comes twice or goes back, also when the key is lost or has been set ahead of
// the clock or to something else.
func TestNext(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	last := int64(0)
	next := func(what string) {
		t.Helper()
		number, err := r.Next(t.Context(), "user:#")
		check(t, err)
		if number <= last {
			t.Errorf("%s: %d after %d", what, number, last)
		}
		if text := string(get(t, r, "user:#").Value); text != strconv.FormatInt(number, 10) {
			t.Errorf("%s: %d is %q in Redis", what, number, text)
		}
		last = number
	}
	for range 100 {
		next("at first")
	}
	do(t, s, "DEL", "user:#")
	next("lost")
	do(t, s, "SET", "user:#", "a word")
	next("overwritten")
	last = time.Now().Add(time.Hour).UnixMicro()
	do(t, s, "SET", "user:#", strconv.FormatInt(last, 10))
	for range 3 {
		next("ahead of the clock")
	}
}

// Catches: an item that is replaced, one without its TTL, an answer that is not what Redis has.
func TestAdd(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	for _, value := range []string{"one", "two"} {
		item := found(value)
		item.TTL = time.Minute
		got, err := r.Add(t.Context(), "user:a", item)
		check(t, err)
		has := get(t, r, "user:a")
		if got.State != near.Found || string(got.Value) != "one" || string(has.Value) != "one" || has.TTL > time.Minute || has.TTL < 50*time.Second {
			t.Errorf("%s: %+v, Redis has %+v", value, got, has)
		}
	}
}

// Catches: a change that is not published.
func TestGroupsByChannel(t *testing.T) {
	r := open(t, redis.Options{Channel: "changes"}, server(t).Addr)
	w := neartest.Record(t, r, lag)
	ctx := t.Context()
	if _, err := r.Add(ctx, "user:added", found("one")); err != nil {
		t.Fatal(err)
	}
	w.AwaitKey(t, "user:added")
	item := found("one")
	item.Groups = []near.Membership{{Group: "g", Generation: "1.a"}}
	check(t, r.Set(ctx, "user:dropped", item))
	w.AwaitKey(t, "user:dropped")
	w = neartest.Record(t, r, lag)
	check(t, r.Drop(ctx, "user:dropped", item.Groups))
	w.AwaitKey(t, "user:dropped")
}
