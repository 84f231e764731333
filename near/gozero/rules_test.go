package gozero_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/stores/cache"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// A table is a database of one row, whose queries are counted.
type table struct {
	queries int
	row     row
	err     error
}

func (d *table) query(v any) error {
	d.queries++
	if d.err == nil {
		*v.(*row) = d.row
	}
	return d.err
}

// take has c Take a key, and compares what it gets.
func (d *table) take(t testing.TB, c cache.Cache, key string, want row, wantErr error, wantQueries int) {
	t.Helper()
	var got row
	err := c.Take(&got, key, d.query)
	if got != want || err != wantErr || d.queries != wantQueries {
		t.Errorf("Take(%s) = %v, %v after %d queries; want %v, %v after %d", key, got, err, d.queries, want, wantErr, wantQueries)
	}
}

const key = "cache:row:1"

// TestTake checks that the first Take queries, the next one reads Redis, and later ones
// read memory.
//
// Catches: a value of a query that is kept, one of Redis that is not, and JSON of its own.
func TestTake(t *testing.T) {
	s := server(t)
	c := newNear(t, gozero.Conf{}, nodes(s.Addr))
	d := &table{row: row{7, "<Ann & Bob>", "a note"}}
	d.take(t, c, key, d.row, nil, 1) // as the query left it
	read := d.row
	read.Note = ""
	before := hits(t)
	d.take(t, c, key, read, nil, 1)
	if hits(t) != before {
		t.Error("what the query returned was kept")
	}
	await(t, "a hit", func() bool { d.take(t, c, key, read, nil, 1); return hits(t) > before })
	if n := c.Stats(); n.Near.Fetches != 1 || n.Near.RemoteHits == 0 || !n.Near.Serving || n.Near.StoreErrors > 0 {
		t.Errorf("counted: %+v", n.Near)
	}

	theirs := plain(nodes(s.Addr))
	check(t, theirs.Take(new(row), "cache:row:theirs", d.query))
	if ours, want := do(t, s, "GET", key), do(t, s, "GET", "cache:row:theirs"); ours != want {
		t.Errorf("in Redis is %s, and go-zero writes %s", ours, want)
	}
}

// TestChangesOfOthers checks that changes by go-zero instances without a near cache are
// seen.
func TestChangesOfOthers(t *testing.T) {
	s := server(t)
	c, theirs := newNear(t, gozero.Conf{}, nodes(s.Addr)), plain(nodes(s.Addr))
	d := &table{row: row{ID: 1}}
	for i := int64(1); i < 20; i++ {
		change := func() error { return theirs.Set(key, row{ID: i}) }
		if i%2 == 0 {
			d.row = row{ID: i}
			change = func() error { return theirs.Del(key) }
		}
		var got row
		check(t, c.Take(&got, key, d.query))
		check(t, c.Take(&got, key, d.query)) // kept, mostly
		check(t, change())
		await(t, "the change", func() bool { check(t, c.Take(&got, key, d.query)); return got.ID == i })
	}
}

// TestOwnWrites checks that a caller that has changed a key gets the new value at once.
func TestOwnWrites(t *testing.T) {
	c := newNear(t, gozero.Conf{}, nodes(server(t).Addr))
	d := &table{}
	for i := range int64(200) {
		d.row.ID = 1000 + i
		var got row
		check(t, c.Take(&got, key, d.query))
		check(t, c.Take(&got, key, d.query))
		switch i % 3 {
		case 0:
			check(t, c.Set(key, row{ID: i}))
		case 1:
			check(t, c.SetWithExpire(key, row{ID: i}, ttl))
		case 2:
			d.row.ID = i
			check(t, c.Del(key))
		}
		if check(t, c.Take(&got, key, d.query)); got.ID != i {
			t.Fatalf("change %d: got %d", i, got.ID)
		}
	}
}

// TestNotFound checks that the placeholder is written and kept as go-zero does.
func TestNotFound(t *testing.T) {
	s := server(t)
	c := newNear(t, gozero.Conf{}, nodes(s.Addr), cache.WithNotFoundExpiry(ttl))
	d := &table{err: errNotFound}
	d.take(t, c, key, row{}, errNotFound, 1)
	if got := do(t, s, "GET", key); got != "*" {
		t.Errorf("in Redis is %q", got)
	}
	await(t, "that to be kept", func() bool {
		before := reads(t, s)
		d.take(t, c, key, row{}, errNotFound, 1)
		if err := c.Get(key, new(row)); !c.IsNotFound(err) {
			t.Errorf("Get: %v", err)
		}
		return reads(t, s) == before
	})
	d.err, d.row = nil, row{ID: 1}
	check(t, plain(nodes(s.Addr)).Del(key)) // by the program that has inserted the row
	await(t, "the row", func() bool { return c.Take(new(row), key, d.query) == nil })
	if c.IsNotFound(errors.New("another")) {
		t.Error("every error is that there is none")
	}
	check(t, c.Del(key))
	if err := c.Get(key, new(row)); !c.IsNotFound(err) {
		t.Errorf("Get of what Redis does not have: %v", err)
	}
	if n := c.Stats().Loads.Failed.Count(); n != 0 {
		t.Errorf("%d loads have failed, which found that there is no row", n)
	}
	d.err = errors.New("refused")
	c.Take(new(row), key, d.query)
	if n := c.Stats().Loads.Failed.Count(); n != 1 {
		t.Errorf("%d loads have failed, want the one of a query that did", n)
	}
}

// reads returns how often a server has run GET.
func reads(t testing.TB, s *redistest.Server) (calls int) {
	t.Helper()
	if _, rest, ok := strings.Cut(do(t, s, "INFO", "commandstats"), "cmdstat_get:calls="); ok {
		_, err := fmt.Sscan(rest[:strings.IndexByte(rest, ',')], &calls)
		check(t, err)
	}
	return calls
}

// TestUnstored checks that the result of a query that go-zero could not store is not kept.
//
// Catches: a value that is kept although Redis does not have its key, so that no change of it
// is told.
func TestUnstored(t *testing.T) {
	s := server(t)
	c, theirs := newNear(t, gozero.Conf{}, nodes(s.Addr)), plain(nodes(s.Addr))
	d := &table{row: row{ID: 1}}
	do(t, s, "CONFIG", "SET", "maxmemory", "1") // every SET fails, and is only logged
	d.take(t, c, key, d.row, nil, 1)
	if got := do(t, s, "EXISTS", key); got != "0" {
		t.Fatal("it was stored")
	}
	d.row.ID = 2
	check(t, theirs.Del(key))
	d.take(t, c, key, d.row, nil, 2)
}

// TestUncovered checks that keys without a prefix go to go-zero's cache.
func TestUncovered(t *testing.T) {
	s := server(t)
	c, theirs := newNear(t, gozero.Conf{Prefixes: []string{"cache:", "kept:"}}, nodes(s.Addr)), plain(nodes(s.Addr))
	for i := range 100 {
		check(t, theirs.Set("other:1", i))
		for range 2 {
			got := -1
			if err := c.Take(&got, "other:1", nil); err != nil || got != i {
				t.Fatalf("Take = %d, %v, want %d", got, err, i)
			}
		}
	}
}

// TestTTL checks that a value stays in memory no longer than in Redis, and no longer than
// Expire.
func TestTTL(t *testing.T) {
	s := server(t)
	do(t, s, "CONFIG", "SET", "hz", "1") // what has expired is removed late
	for name, c := range map[string]struct {
		here  time.Duration
		there string // in ms
	}{
		"there": {0, "200"},
		"here":  {200 * time.Millisecond, "60000"},
	} {
		t.Run(name, func(t *testing.T) {
			near := newNear(t, gozero.Conf{Expire: c.here}, nodes(s.Addr))
			d := &table{err: errors.New("not asked")} // which would store it for long
			before := hits(t)
			await(t, "a hit", func() bool {
				do(t, s, "SET", key, `{"ID":1}`, "PX", c.there)
				_, _ = near.Take(new(row), key, d.query), near.Take(new(row), key, d.query)
				return hits(t) > before
			})
			time.Sleep(220 * time.Millisecond) // 5 % for the jitter, and a tick
			before = hits(t)
			_ = near.Take(new(row), key, d.query)
			if hits(t) != before {
				t.Error("served when its time was over")
			}
		})
	}
}

// TestUndecodable checks that a value that cannot be decoded is removed and queried, as by
// go-zero's cache.
func TestUndecodable(t *testing.T) {
	s := server(t)
	c := newNear(t, gozero.Conf{}, nodes(s.Addr))
	for _, bad := range []string{"no JSON", `{"ID": "a string"}`, `["a list"]`, "\x00near\x00?token"} {
		d := &table{row: row{ID: 1}}
		do(t, s, "SET", key, bad)
		for range 3 { // it may be kept, for those who can decode it
			_ = c.Get(key, new(any))
		}
		d.take(t, c, key, d.row, nil, 1)
		d.take(t, c, key, d.row, nil, 1)
		if got := do(t, s, "GET", key); got != `{"ID":1,"Name":""}` {
			t.Errorf("instead of %q there is %q", bad, got)
		}
		do(t, s, "SET", key, bad)
		var got row
		await(t, "the removal", func() bool { return c.Get(key, &got) == errNotFound })
		if got := do(t, s, "EXISTS", key); got != "0" {
			t.Errorf("Get has left %q", bad)
		}
	}
	if n := c.Stats().Near.Undecodable; n == 0 {
		t.Error("none was counted as undecodable")
	}
}

// A fussy decodes everything but the text "bad".
type fussy struct {
	Text string
	fail func()
}

func (f *fussy) UnmarshalJSON(data []byte) error {
	if f.Text = string(data); f.Text == `"bad"` {
		f.fail()
	}
	return nil
}

func (f *fussy) MarshalJSON() ([]byte, error) { return []byte(`"good"`), nil }

// TestDecodeThatDoesNotReturn checks that a value for which the decoding panics, or calls
// Goexit, is removed from Redis: else nobody gets the key again.
func TestDecodeThatDoesNotReturn(t *testing.T) {
	s := server(t)
	c := newNear(t, gozero.Conf{}, nodes(s.Addr))
	for name, fail := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		for call, ask := range map[string]func(v any) error{
			"Take": func(v any) error { return c.Take(v, key, func(any) error { return nil }) },
			"Get":  func(v any) error { return c.Get(key, v) },
		} {
			do(t, s, "SET", key, `"bad"`)
			await(t, "the bad value", func() bool { var text string; return c.Get(key, &text) == nil && text == "bad" })
			ended := make(chan error, 1)
			go func() {
				defer close(ended)
				ended <- ask(&fussy{fail: fail})
			}()
			err, returned := <-ended
			if returned != (name == "panic") || returned && call == "Take" && err != nil {
				t.Errorf("%s in %s: %v, %v", name, call, err, returned)
			}
			if got := do(t, s, "GET", key); got == `"bad"` {
				t.Errorf("%s in %s: the value is still there", name, call)
			}
		}
	}
}

// TestLongTimes checks that the longest time is a long time in the settings, in what is
// written, and in what Redis answers.
func TestLongTimes(t *testing.T) {
	const long = math.MaxInt64
	s := server(t)
	c := newIdle(t, gozero.Conf{Expire: long, MaxLag: long}, nodes(s.Addr), errNotFound)
	check(t, c.SetWithExpire(key, 1, long))
	awaitHit := func(what string) {
		await(t, what, func() bool {
			var got int
			before := hits(t)
			return c.Get(key, &got) == nil && got == 1 && hits(t) > before
		})
	}
	awaitHit("a hit")
	do(t, s, "PEXPIREAT", key, fmt.Sprint(int64(long)))
	awaitHit("a hit again")
}

// TestTypes checks that each caller decodes into its own type.
func TestTypes(t *testing.T) {
	c := newNear(t, gozero.Conf{}, nodes(server(t).Addr))
	check(t, c.Set(key, []int64{323427211229009810}))
	for range 4 {
		var list []int64
		var whatever any
		var raw json.RawMessage
		for _, into := range []any{&list, &whatever, &raw} {
			check(t, c.Take(into, key, nil))
		}
		if list[0] != 323427211229009810 || fmt.Sprint(whatever) != "[323427211229009810]" || string(raw) != "[323427211229009810]" {
			t.Errorf("%v, %v, %s", list, whatever, raw)
		}
		list[0], raw[1] = 0, 'x' // they are the caller's
	}
}

// TestErrors checks that the error of a query reaches the caller as it is, and is not
// kept.
func TestErrors(t *testing.T) {
	c := newNear(t, gozero.Conf{}, nodes(server(t).Addr))
	d := &table{err: errors.New("the database is away")}
	d.take(t, c, key, row{}, d.err, 1)
	d.take(t, c, key, row{}, d.err, 2)
	if err := c.Set(key, make(chan int)); err == nil {
		t.Error("a channel can be stored")
	}
	func() {
		defer func() {
			if recover() != "as in go-zero" {
				t.Error("the caller does not see the panic of its query")
			}
		}()
		_ = c.Take(new(row), key, func(any) error { panic("as in go-zero") })
	}()
	d.err = nil
	d.take(t, c, key, row{}, nil, 3)
}

// TestOneQuery checks that callers that miss a key at the same time wait for one query.
func TestOneQuery(t *testing.T) {
	c := newNear(t, gozero.Conf{}, nodes(server(t).Addr))
	var queries atomic.Int64
	var all sync.WaitGroup
	proceed := make(chan struct{})
	for range 10 {
		all.Go(func() {
			check(t, c.TakeCtx(t.Context(), new(row), key, func(any) error { queries.Add(1); <-proceed; return nil }))
		})
		all.Go(func() { _ = c.GetCtx(t.Context(), key, new(row)) })
	}
	time.Sleep(10 * time.Millisecond)
	close(proceed)
	all.Wait()
	if n := queries.Load(); n != 1 {
		t.Errorf("%d queries", n)
	}
}

// Catches: a caller that leaves while its query runs, and so writes to the caller's variables.
func TestQueryEndsBeforeItsCaller(t *testing.T) {
	c := newNear(t, gozero.Conf{}, nodes(server(t).Addr))
	ctx, cancel := context.WithCancel(t.Context())
	returned := false
	_ = c.TakeCtx(ctx, new(row), key, func(any) error {
		cancel()
		time.Sleep(20 * time.Millisecond)
		returned = true
		return nil
	})
	if !returned {
		t.Error("Take has returned before its query")
	}
	if err := c.TakeCtx(ctx, new(row), "cache:row:2", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended does not reach Redis: %v", err)
	}
}
