package near_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// versioned returns a codec whose values those of other versions cannot decode.
func versioned(version string) near.Codec[string] {
	return near.Codec[string]{
		Encode: func(value string) ([]byte, error) { return []byte(version + "=" + value), nil },
		Decode: func(data []byte) (string, error) {
			value, ok := strings.CutPrefix(string(data), version+"=")
			if !ok {
				return "", fmt.Errorf("version %q cannot decode %q", version, data)
			}
			return value, nil
		},
	}
}

// TestVersionsSideBySide runs four versions of a service over one store. None removes what another
// reads, but for a write: it is seen by the versions before and after, also where there was no
// Schema.
func TestVersionsSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, truth, fetches := newServer(), "0", 0
		s.delay = func() time.Duration { return rand.N(time.Microsecond) }
		schemas := []string{"", "v1", "v2", "v3"}
		caches := map[string]*near.Cache[int, string]{}
		for _, schema := range schemas {
			c, err := near.New(s, s, near.Options[int, string]{Prefix: "users:", Schema: schema, Values: versioned(schema)})
			must(t, err)
			defer c.Close(context.Background())
			caches[schema] = c
		}
		answers := func() (all string) {
			time.Sleep(time.Millisecond) // all is told
			for _, schema := range schemas {
				value, err := caches[schema].Take(t.Context(), 1, func(context.Context) (string, error) { fetches++; return truth, nil })
				must(t, err)
				all += value
			}
			return all
		}
		for range 10 {
			if got := answers(); got != "0000" {
				t.Errorf("at first: %s", got)
			}
		}
		for schema, c := range caches {
			if n := c.Stats().Near; n.Undecodable != 0 || n.ForgottenAll != 1 {
				t.Errorf("%q: %+v", schema, n)
			}
		}
		if fetches != len(schemas) {
			t.Errorf("%d fetches, want one by each version", fetches)
		}
		truth = "1"
		must(t, caches["v2"].Del(t.Context(), 1))
		if got := answers(); got != "0111" {
			t.Errorf("after a Del by v2: %s", got)
		}
		truth = "2"
		must(t, caches["v1"].Set(t.Context(), 1, "2"))
		if got := answers(); got != "2221" {
			t.Errorf("after a Set by v1: %s", got)
		}
		for range 300 { // at once: none keeps a value that the other has replaced
			var sets sync.WaitGroup
			for i, schema := range []string{"v2", "v3"} {
				sets.Go(func() { must(t, caches[schema].Set(t.Context(), 1, strconv.Itoa(i))) })
			}
			sets.Wait()
			if s.items["users:~v2~1"].State == near.Found && s.items["users:~v3~1"].State == near.Found {
				t.Fatal("both versions have their own value")
			}
		}
		s.fail = func(op string) bool { return op == "del" }
		if err := caches["v2"].Set(t.Context(), 1, "3"); !errors.Is(err, near.ErrStore) {
			t.Errorf("a Set that could not remove the neighbors' values: %v", err)
		}
	})
}

// TestNeighbors checks which values a Del removes.
func TestNeighbors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for schema, want := range map[string]string{
			"":       "k",
			"v0":     "k ~v0~k ~v1~k",
			"v1":     "k ~v0~k ~v1~k ~v2~k",
			"v9":     "~v10~k ~v8~k ~v9~k",
			"10":     "~10~k ~11~k ~9~k",
			"users":  "~users~k",
			"v99999": "~v100000~k ~v99998~k ~v99999~k",
		} {
			r := newRig(t, near.Options[string, string]{Schema: schema})
			texts := []string{"k"}
			for _, other := range []string{"v0", "v1", "v2", "v8", "v9", "v10", "9", "10", "11", "users", "users0", "v99998", "v99999", "v100000"} {
				texts = append(texts, "~"+other+"~k")
			}
			for _, text := range texts {
				r.store(text, "1", 0)
			}
			must(t, r.Del(t.Context(), "k"))
			texts = slices.DeleteFunc(texts, func(text string) bool { _, left := r.server.items[text]; return left })
			slices.Sort(texts)
			if got := strings.Join(texts, " "); got != want {
				t.Errorf("Schema %q removes %s, want %s", schema, got, want)
			}
		}
	})
}

// shown returns a field of a cache that the endpoint of package stats shows.
func shown(t *testing.T, name, field string) string {
	t.Helper()
	w := httptest.NewRecorder()
	stats.Handler(stats.WithErrors()).ServeHTTP(w, httptest.NewRequest("GET", "/stats.json", nil))
	var all struct{ Caches []map[string]any }
	must(t, json.Unmarshal(w.Body.Bytes(), &all))
	i := slices.IndexFunc(all.Caches, func(c map[string]any) bool { return c["name"] == name })
	if i < 0 {
		t.Fatalf("%s is not shown", name)
	}
	return fmt.Sprint(all.Caches[i][field])
}

// TestRareThingsAreLogged checks what a Logger, or slog's default, is told of, and that the
// statistics have the last errors of the store and of the source.
func TestRareThingsAreLogged(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for _, byDefault := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			var text bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&text, nil))
			o := near.Options[string, string]{Name: fmt.Sprint("logs ", byDefault), MaxLag: time.Second, Values: versioned("v1")}
			if byDefault {
				slog.SetDefault(logger)
			} else {
				o.Logger = logger
			}
			r := newRig(t, o)
			lines := func(what string, want ...string) {
				t.Helper()
				got := strings.Split(strings.TrimSpace(text.String()), "\n")
				text.Reset()
				for i, w := range want {
					if len(got) != len(want) || !strings.Contains(got[i], w) || !strings.Contains(got[i], o.Name) {
						t.Errorf("%s: %q, want %q", what, got, want)
					}
				}
				if len(want) == 0 && got[0] != "" {
					t.Errorf("%s: %q", what, got)
				}
			}
			lines("at first")
			for range 40 {
				r.store("k", "another version's", 0)
				r.Take(t.Context(), "k", r.fetch)
				r.hand.Changed("k")
			}
			if n := r.Stats().Near.Undecodable; n != 40 {
				t.Errorf("%d values undecodable, want 40", n)
			}
			lines("two versions", "cannot decode")
			r.server.fail = func(string) bool { return true }
			for range 10 {
				r.Set(t.Context(), "k", "1")
			}
			lines("the store fails", "does not answer")
			r.server.fail = nil
			must(t, r.Set(t.Context(), "k", "1"))
			lines("the store is back", "answers again")
			for range 2 {
				r.hand.Lost(errors.New("reset by peer"))
			}
			lines("the source lost its connection", "reset by peer")
			r.hand.ChangedAll()
			r.hand.ChangedAll()
			lines("it is back", "again")
			for range 10 { // each at most once a minute
				r.hand.Lost(errServer)
				r.hand.ChangedAll()
			}
			lines("the source flaps")
			for field, want := range map[string]string{"last_store_error": "connection is broken", "last_source_error": "*errors.errorString"} {
				if got := shown(t, o.Name, field); !strings.Contains(got, want) {
					t.Errorf("%s: %s", field, got)
				}
			}
			must(t, r.Close(t.Context()))
			lines("Close")
		})
	}
}

// TestLoggerMayHaveTheCache checks that a cache whose Logger, or an error that it keeps, leads to
// it is collected: the statistics have both.
func TestLoggerMayHaveTheCache(t *testing.T) {
	var gone weak.Pointer[near.Cache[string, string]]
	func() {
		h := &havingHandler{Handler: slog.DiscardHandler}
		s := newServer()
		c, err := near.New(s, s, near.Options[string, string]{Logger: slog.New(h)})
		must(t, err)
		h.cache, gone = c, weak.Make(c)
		must(t, c.Close(t.Context()))
	}()
	if !settle.Collected(func() bool { return gone.Value() == nil }) {
		t.Fatal("the cache is kept alive")
	}
}

type havingHandler struct {
	slog.Handler
	cache any
}
