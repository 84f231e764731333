package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// An operation is what stats.json says for operators.
type operation struct {
	Loads struct {
		OK       int     `json:"ok"`
		Failed   int     `json:"failed"`
		TimedOut int     `json:"timed_out"`
		NotFound int     `json:"not_found"`
		Failing  int     `json:"failing_keys"`
		InRow    int     `json:"failures_in_row"`
		Permits  int     `json:"permit_waits"`
		P99      float64 `json:"p99_seconds"`
	} `json:"loads"`
	Waits struct {
		Count   int     `json:"count"`
		Refused int     `json:"refused"`
		P99     float64 `json:"p99_seconds"`
	} `json:"waits"`
	Callbacks struct {
		Blocked int `json:"blocked"`
	} `json:"callbacks"`
	Failing  []badKey `json:"failing_keys"`
	Slow     []badKey `json:"slow_keys"`
	Findings []struct{ Cause, Level, Words string }
	Last     *struct {
		Text string `json:"text"`
	} `json:"last_load_error"`
}

type badKey struct {
	Key     string    `json:"key"`
	Failed  int       `json:"failed"`
	Since   time.Time `json:"since"`
	Text    string    `json:"text"`
	Took    float64   `json:"took_seconds"`
	Running bool      `json:"running"`
}

// operationOf returns what the page of package stats is told of a cache.
func operationOf(t *testing.T, name string) operation {
	t.Helper()
	w := httptest.NewRecorder()
	stats.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/stats.json?cache="+url.QueryEscape(name), nil))
	var all struct {
		Caches []operation `json:"caches"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || len(all.Caches) != 1 {
		t.Fatalf("stats.json: %v, %d caches", err, len(all.Caches))
	}
	return all.Caches[0]
}

// TestTimeoutsAreCounted checks that a load counts as timed out when Timeout ends, and once, though its
// fetch ends later or never, and that so does one that fails by a time-out; that its callers count as
// refused, and that its key is named, with a text without keys.
func TestTimeoutsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Name: "hang", Timeout: time.Second, HotKeys: 1})
		defer cache.MustClose(t, c)
		began := time.Now()
		hang := func(context.Context) (int, error) { time.Sleep(time.Minute); return 1, nil }
		for range 3 {
			go c.TakeCtx(t.Context(), "k", hang)
		}
		time.Sleep(500 * time.Millisecond)
		if o := operationOf(t, "hang"); o.Loads.TimedOut != 0 || len(o.Slow) != 1 || !o.Slow[0].Running || o.Slow[0].Took != 0.5 || !o.Slow[0].Since.Equal(began) {
			t.Errorf("before the time-out: %+v", o)
		}
		time.Sleep(600 * time.Millisecond)
		c.Take("k", func() (int, error) { return 0, nil })
		o := operationOf(t, "hang")
		if l := o.Loads; l.TimedOut != 1 || l.Failed != 1 || l.OK != 0 || l.Failing != 1 || l.InRow != 1 || o.Waits.Refused != 4 || o.Waits.Count != 3 || o.Waits.P99 < 0.5 {
			t.Errorf("after the time-out: %+v", o)
		}
		if k := o.Failing[0]; k.Key != "k" || k.Failed != 1 || k.Text != cache.ErrTimeout.Error() || o.Last.Text != cache.ErrTimeout.Error() {
			t.Errorf("the key is %+v, the last error %+v", k, o.Last)
		}
		time.Sleep(time.Minute)
		if o := operationOf(t, "hang"); o.Loads.TimedOut != 1 || o.Loads.Failed != 1 || o.Loads.OK != 0 || o.Loads.InRow != 1 {
			t.Errorf("after the fetch: %+v", o)
		}
		c.Del("k")
		for _, err := range []error{os.ErrDeadlineExceeded, errors.New("other")} {
			c.Take("k", func() (int, error) { return 0, err })
		}
		if o := operationOf(t, "hang"); o.Loads.TimedOut != 2 || o.Loads.Failed != 3 || o.Loads.InRow != 3 || o.Failing[0].Text != "" {
			t.Errorf("after other errors: %+v", o)
		}
	})
}

// TestFailuresInRow checks that failures in a row count by key, that any success ends them, also one that
// finds no value, and that callers who leave say nothing about a key.
func TestFailuresInRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errNone := errors.New("none")
		c := cache.Must(cache.Options[int, int]{Name: "row", Negative: func(err error) time.Duration {
			if err == errNone {
				return time.Second
			}
			return 0
		}})
		defer cache.MustClose(t, c)
		load := func(key int, err error) {
			c.TakeWith(t.Context(), key, func(_ context.Context, l *cache.Load[int]) (int, error) {
				time.Sleep(20 * time.Millisecond)
				l.Expire = -1
				return 1, err
			})
		}
		for range 3 {
			load(1, errors.New("down"))
		}
		load(2, errors.New("down"))
		left, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, leave)
		c.TakeCtx(left, 3, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		synctest.Wait()
		if o := operationOf(t, "row"); o.Loads.Failing != 2 || o.Loads.InRow != 3 || o.Failing[0].Failed != 3 || o.Failing[0].Key != "" || o.Waits.Refused != 4 || o.Waits.Count != 5 {
			t.Errorf("after failures: %+v", o)
		}
		load(1, nil)
		load(2, errNone)
		load(2, errNone)
		if o := operationOf(t, "row"); o.Loads.Failing != 0 || o.Loads.InRow != 0 || len(o.Failing) != 0 || o.Waits.Refused != 4 || o.Loads.NotFound != 1 || len(o.Slow) != 2 {
			t.Errorf("after successes: %+v", o)
		}
	})
}

// TestWaitsAreCounted checks how long loads wait for a permit, how long callers wait for loads, and how many
// callers wait as OnRemove is behind.
func TestWaitsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		c := cache.Must(cache.Options[int, int]{Name: "waits", MaxLoads: 1, Workers: 1, OnRemove: func(cache.Event[int, int]) { <-free }})
		defer cache.MustClose(t, c)
		for key := range 3 {
			go c.Take(key, func() (int, error) { time.Sleep(time.Second); return 1, nil })
		}
		time.Sleep(time.Minute)
		if o := operationOf(t, "waits"); o.Loads.Permits != 2 || o.Waits.Count != 3 || o.Waits.P99 < 2 || o.Waits.Refused != 0 || o.Loads.P99 > 1.5 {
			t.Errorf("three loads with one permit: %+v", o)
		}
		for range 3 {
			go func() {
				for range 20_000 {
					c.Set(7, 7)
				}
			}()
		}
		synctest.Wait()
		if o := operationOf(t, "waits"); o.Callbacks.Blocked != 3 {
			t.Errorf("%d callers wait for OnRemove, want 3", o.Callbacks.Blocked)
		}
		close(free)
		synctest.Wait()
		if o := operationOf(t, "waits"); o.Callbacks.Blocked != 0 {
			t.Errorf("%d callers wait after OnRemove has gone on", o.Callbacks.Blocked)
		}
	})
}

// TestOldValuesRefuseNobody checks that a caller counts as refused only if no old value stands in.
func TestOldValuesRefuseNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Name: "old", Expire: time.Second, Grace: time.Minute, Patience: time.Second})
		defer cache.MustClose(t, c)
		c.Set(1, 1)
		time.Sleep(2 * time.Second)
		for key := range 2 {
			c.TakeCtx(t.Context(), key, func(context.Context) (int, error) { time.Sleep(time.Millisecond); return 0, errors.New("down") })
		}
		for _, take := range []func(){
			func() { c.Take(2, func() (int, error) { panic("oh") }) },
			func() { c.TakeCtx(t.Context(), 2, func(context.Context) (int, error) { panic("oh") }) },
		} {
			func() { defer func() { recover() }(); take() }()
		}
		if o := operationOf(t, "old"); o.Loads.Failed != 4 || o.Waits.Count != 2 || o.Waits.Refused != 3 {
			t.Errorf("%+v", o)
		}
	})
}

// TestNotFoundRefusesNobody checks that a key without a value, by an error that says so, refuses none of the
// callers of one key or of several.
func TestNotFoundRefusesNobody(t *testing.T) {
	gone := errors.New("no such user")
	c := cache.Must(cache.Options[int, int]{Name: "gone", Load: func(_ context.Context, key int, l *cache.Load[int]) (int, error) {
		l.NotFound = key == 1
		return 0, gone
	}})
	defer cache.MustClose(t, c)
	c.Fetch(t.Context(), 1)
	if _, err := c.FetchMany(t.Context(), []int{1}); err != gone {
		t.Errorf("FetchMany = %v", err)
	}
	if o := operationOf(t, "gone"); o.Waits.Refused != 0 || o.Waits.Count != 2 {
		t.Errorf("not found: %+v", o.Waits)
	}
	c.FetchMany(t.Context(), []int{1, 2})
	if o := operationOf(t, "gone"); o.Waits.Refused != 1 {
		t.Errorf("failed: %+v", o.Waits)
	}
}

// TestLateSuccess checks that a load that brings its value after Timeout, for a caller that waits all the same,
// is counted as timed out, but that its key does not fail.
func TestLateSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Name: "late", Timeout: time.Second})
		defer cache.MustClose(t, c)
		for range 3 {
			c.Del(1)
			if _, err := c.Take(1, func() (int, error) { time.Sleep(2 * time.Second); return 1, nil }); err != nil {
				t.Error(err)
			}
		}
		if o := operationOf(t, "late"); o.Loads.TimedOut != 3 || o.Loads.Failing != 0 || len(o.Failing) != 0 {
			t.Errorf("%+v", o)
		}
	})
}

// TestLargeBatchFails checks that the keys of a large batch that fail by themselves are known, and of one
// that fails as a whole only the first.
func TestLargeBatchFails(t *testing.T) {
	var down bool
	c := cache.Must(cache.Options[int, int]{Name: "batch", LoadMany: func(_ context.Context, keys []int, loads []*cache.Load[int]) (map[int]int, error) {
		if down {
			return nil, errors.New("down")
		}
		loads[len(keys)-1].Err = errors.New("bad row")
		return nil, nil
	}})
	defer cache.MustClose(t, c)
	keys := make([]int, 200)
	for i := range keys {
		keys[i] = i
	}
	c.FetchMany(t.Context(), keys)
	if o := operationOf(t, "batch"); o.Loads.Failing != 1 {
		t.Errorf("one bad key: %+v", o.Loads)
	}
	down = true
	c.FetchMany(t.Context(), keys)
	if o := operationOf(t, "batch"); o.Loads.Failing < 64 {
		t.Errorf("all fail: %+v", o.Loads)
	}
}

// TestAccept checks that what is as intended is advice on the page, and that a word that it never says is an error.
func TestAccept(t *testing.T) {
	if _, err := cache.New(cache.Options[int, int]{Accept: []string{"one hot key", "hot key"}}); !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), `Accept has "hot key": want`) {
		t.Errorf("New = %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Name: "accepts", Accept: []string{"loads hang"}})
		go c.Take(1, func() (int, error) { time.Sleep(time.Hour); return 1, nil })
		time.Sleep(time.Minute)
		if o := operationOf(t, "accepts"); len(o.Findings) != 1 || o.Findings[0].Level != "advice" || !strings.HasPrefix(o.Findings[0].Words, "As intended: Loads hang") {
			t.Errorf("%+v", o.Findings)
		}
		time.Sleep(time.Hour)
		cache.MustClose(t, c)
	})
}
