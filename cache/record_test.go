package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/recording"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// recordedOf returns what a recording of a cache, one key in oneIn, has of use.
func recordedOf[K comparable, V any](t *testing.T, c *cache.Cache[K, V], oneIn int, use func()) (h recording.Header, all []recording.Access, end recording.End, raw []byte) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := c.Record(ctx, &out, oneIn); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	use()
	cancel()
	done.Wait()
	end, err := recording.Read(bytes.NewReader(out.Bytes()), func(got recording.Header) { h = got }, func(a recording.Access) error {
		all = append(all, a)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, all, end, out.Bytes()
}

// TestRecord checks that a recording has every operation that changes the contents, with
// TTL and weight, and only a hash of each key.
func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Name: "recorded", MaxWeight: 100, Weigh: func(_ string, v int) uint32 { return uint32(v) }, Expire: time.Minute})
		defer c.Close(context.Background())
		const key, other = "a-key-to-be-kept-secret", "another-secret-key"
		h, got, end, raw := recordedOf(t, c, 1, func() {
			c.Get(key)
			c.Set(key, 7)
			time.Sleep(time.Second)
			c.Get(key)
			c.Peek(key) // without a trace
			c.Touch(key, time.Hour)
			c.Take(key, nil1)
			c.SetWithExpire(other, 8, 0)
			c.Get(other)
			c.ComputeWithExpire(other, time.Minute, func(int, bool) (int, cache.Op) { return 9, cache.OpSet })
			c.Compute(other, func(int, bool) (int, cache.Op) { return 0, cache.OpDelete })
			c.Take(other, func() (int, error) { return 5, nil })
			c.Del(key)
			c.GetOrSet(key, 3)
			c.Set(other, 101) // too heavy: not stored
			c.Clear()
		})
		if bytes.Contains(raw, []byte("secret")) {
			t.Error("the recording has a key")
		}
		a, b := got[0].Key, got[5].Key
		s := time.Second
		const get, set, touch, remove, clearAll = recording.Get, recording.Set, recording.Touch, recording.Remove, recording.Clear
		want := []recording.Access{
			{Op: get, Key: a},
			{Op: set, Key: a, Weight: 7, TTL: time.Minute},
			{Op: get, Key: a, At: s, Hit: true, Weight: 7, TTL: 59 * s},
			{Op: touch, Key: a, At: s, TTL: time.Hour},
			{Op: get, Key: a, At: s, Hit: true, Weight: 7, TTL: time.Hour},
			{Op: set, Key: b, At: s, Weight: 8},
			{Op: get, Key: b, At: s, Hit: true, Weight: 8},
			{Op: set, Key: b, At: s, Weight: 9, TTL: time.Minute},
			{Op: remove, Key: b, At: s},
			{Op: get, Key: b, At: s},
			{Op: set, Key: b, At: s, Weight: 5, TTL: time.Minute},
			{Op: remove, Key: a, At: s},
			{Op: get, Key: a, At: s},
			{Op: set, Key: a, At: s, Weight: 3, TTL: time.Minute},
			{Op: clearAll, At: s},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if h.Cache != "recorded" || h.Policy != "lru" || h.MaxWeight != 100 || h.OneIn != 1 || a == b {
			t.Errorf("the header is %+v", h)
		}
		if f, l := end.First, end.Last; f != (recording.Counters{}) || l.Hits != 3 || l.Misses != 3 || l.Sets != 6 {
			t.Errorf("the counters are %+v and %+v", f, l)
		}
	})
}

func nil1() (int, error) { return 0, errors.New("not to be called") }

// TestRecordASample checks that a recording has all accesses to one key in 16, and none to
// others.
func TestRecordASample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: 100_000})
		const keys, rounds = 16 << 10, 4
		_, got, _, _ := recordedOf(t, c, 16, func() {
			for range rounds {
				for i := range keys {
					c.Get(i)
				}
			}
		})
		count := map[uint64]int{}
		for _, a := range got {
			count[a.Key]++
		}
		if n := len(count); n < 850 || n > 1200 {
			t.Errorf("%d keys, want some 1024", n)
		}
		for key, n := range count {
			if n != rounds {
				t.Fatalf("key %x is there %d times, want %d", key, n, rounds)
			}
		}
	})
}

// TestRecordErrors checks the errors for a bad sample, a failing writer, and a second
// recording.
func TestRecordErrors(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{})
	for _, oneIn := range []int{0, -1, 1<<20 + 1} {
		if err := c.Record(t.Context(), io.Discard, oneIn); err == nil || !strings.Contains(err.Error(), "want a number from 1") {
			t.Errorf("one in %d: %v", oneIn, err)
		}
	}
	full := errors.New("full")
	if err := c.Record(t.Context(), writerFunc(func([]byte) (int, error) { return 0, full }), 1); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{})
		recordedOf(t, c, 1, func() {
			if err := c.Record(t.Context(), io.Discard, 1); !strings.Contains(fmt.Sprint(err), "another Record is running") {
				t.Errorf("a second one: %v", err)
			}
		})
		recordedOf(t, c, 1, func() {}) // and then one may again
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestRecordEndsWithTheCache checks that Close ends a recording, and that a recording of a
// closed cache ends at once.
func TestRecordEndsWithTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{})
		var out bytes.Buffer
		for range 2 {
			var done sync.WaitGroup
			done.Go(func() {
				if err := c.Record(t.Context(), &out, 1); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			cache.MustClose(t, c)
			done.Wait()
			if _, err := recording.Read(&out, func(recording.Header) {}, func(recording.Access) error { return nil }); err != nil {
				t.Error(err)
			}
			out.Reset()
		}
	})
}

// TestRecordThroughStats checks that a cache can be recorded through package stats.
func TestRecordThroughStats(t *testing.T) {
	const name = "recorded by the statistics"
	defer cache.MustClose(t, cache.Must(cache.Options[int, int]{Name: name}))
	server := httptest.NewServer(stats.Handler(stats.WithOperators(func(*http.Request) error { return nil })))
	defer server.Close()
	answer, err := http.PostForm(server.URL+"/record", url.Values{"cache": {name}, "seconds": {"1"}, "one_in": {"1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	_, err = recording.Read(answer.Body, func(h recording.Header) {
		if h.Cache != name || h.OneIn != 1 {
			t.Errorf("it is of %q, one key in %d", h.Cache, h.OneIn)
		}
	}, func(recording.Access) error { return nil })
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v", answer.StatusCode, err)
	}
}
