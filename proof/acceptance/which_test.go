package acceptance

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/proof/internal/harness"
)

// A way is one of the Takes for a single key, whose load calls fetch.
type way func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error)

var errLeftOut = errors.New("left out")

// one is the result of a Take of several keys for one of them.
func one(values map[string]int, err error) (int, error) {
	for _, v := range values {
		return v, err
	}
	if err == nil {
		err = errLeftOut
	}
	return 0, err
}

type fetching struct{}

// loaded has the loader of the options call the function in the context.
func loaded(o *cache.Options[string, int]) {
	o.Load = func(ctx context.Context, _ string, _ *cache.Load[int]) (int, error) {
		return ctx.Value(fetching{}).(func() (int, error))()
	}
}

var ways = map[string]way{
	"Take": func(_ context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
		return c.Take(key, fetch)
	},
	"TakeCtx": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
		return c.TakeCtx(ctx, key, func(context.Context) (int, error) { return fetch() })
	},
	"TakeWith": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
		return c.TakeWith(ctx, key, func(context.Context, *cache.Load[int]) (int, error) { return fetch() })
	},
	"TakeMany": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
		return one(c.TakeMany(ctx, []string{key}, func(context.Context, []string) (map[string]int, error) {
			v, err := fetch()
			return map[string]int{key: v}, err
		}))
	},
	"TakeManyWith": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
		return one(c.TakeManyWith(ctx, []string{key}, func(_ context.Context, loads map[string]*cache.Load[int]) (map[string]int, error) {
			v, err := fetch()
			loads[key].Err = err
			return map[string]int{key: v}, nil
		}))
	},
	"Fetch": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
		return c.Fetch(context.WithValue(ctx, fetching{}, fetch), key)
	},
	"FetchMany": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
		return one(c.FetchMany(context.WithValue(ctx, fetching{}, fetch), key))
	},
}

// A probe finds out in what way a Take honours an option. Time is that of a bubble, and a load
// takes ten seconds.
var probes = map[string]func(t *testing.T, take way) string{
	"Refresh": func(t *testing.T, take way) string {
		c, load := probed(t, func(o *cache.Options[string, int]) { o.Refresh = 0.5 })
		c.Set("k", 1)
		time.Sleep(40 * time.Minute)
		_, _ = take(t.Context(), c, "k", load.as(2, nil))
		synctest.Wait()
		return yes(load.calls.Load() == 1)
	},
	"Grace": func(t *testing.T, take way) string {
		c, load := probed(t, func(o *cache.Options[string, int]) { o.Grace = time.Hour })
		c.Set("k", 1)
		time.Sleep(61 * time.Minute)
		began := time.Now()
		v, _ := take(t.Context(), c, "k", load.as(0, errDown))
		switch {
		case v == 1 && time.Since(began) == 0:
			return "yes"
		case v == 1:
			return "on failure"
		}
		return "no"
	},
	"Patience": func(t *testing.T, take way) string {
		c, load := probed(t, func(o *cache.Options[string, int]) { o.Grace, o.Patience = time.Hour, time.Second })
		c.Set("k", 1)
		time.Sleep(61 * time.Minute)
		began := time.Now()
		_, _ = take(t.Context(), c, "k", load.as(2, nil))
		return yes(time.Since(began) == time.Second)
	},
	"Timeout": func(t *testing.T, take way) string {
		c, load := probed(t, func(o *cache.Options[string, int]) { o.Timeout = time.Second })
		began := time.Now()
		_, err := take(t.Context(), c, "own", load.as(2, nil))
		own := errors.Is(err, cache.ErrTimeout) && time.Since(began) == time.Second
		go func() {
			_, _ = c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) { return load.as(2, nil)() })
		}()
		synctest.Wait()
		_, err = take(t.Context(), c, "k", load.as(3, nil))
		if others := errors.Is(err, cache.ErrTimeout); others && !own {
			return "of others"
		}
		return yes(own)
	},
	"MaxLoads": func(t *testing.T, take way) string {
		c, load := probed(t, func(o *cache.Options[string, int]) { o.MaxLoads = 1 })
		go func() {
			_, _ = c.TakeCtx(t.Context(), "other", func(context.Context) (int, error) { return load.as(2, nil)() })
		}()
		synctest.Wait()
		began := time.Now()
		_, _ = take(t.Context(), c, "k", load.as(2, nil))
		return yes(time.Since(began) == 20*time.Second)
	},
	"Negative": func(t *testing.T, take way) string {
		c, load := probed(t, func(o *cache.Options[string, int]) { o.Negative = func(error) time.Duration { return time.Hour } })
		_, _ = c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) { return 0, errDown })
		_, _ = take(t.Context(), c, "k", load.as(2, nil))
		asks := load.calls.Load() == 0
		_, _ = take(t.Context(), c, "own", load.as(0, errDown))
		_, _ = take(t.Context(), c, "own", load.as(0, errDown))
		if keeps := load.calls.Load() == 1; asks && !keeps {
			return "of others"
		}
		return yes(asks)
	},
	"its context": func(t *testing.T, take way) string {
		c, load := probed(t, func(*cache.Options[string, int]) {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, _ = take(ctx, c, "k", load.as(2, nil))
		return yes(time.Since(began) == time.Second)
	},
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// A slowLoad counts its calls, each of which takes ten seconds.
type slowLoad struct{ calls atomic.Int64 }

func (l *slowLoad) as(v int, err error) func() (int, error) {
	return func() (int, error) {
		l.calls.Add(1)
		time.Sleep(10 * time.Second)
		return v, err
	}
}

// probed returns a cache whose values live for an hour, and a load for it.
func probed(t *testing.T, change func(*cache.Options[string, int])) (*cache.Cache[string, int], *slowLoad) {
	o := cache.Options[string, int]{Expire: time.Hour}
	loaded(&o)
	change(&o)
	return harness.New(t, o), new(slowLoad)
}

// TestWhichTake finds out which Take honours which option, and compares that with the table of
// the README.
func TestWhichTake(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	options, table := tableOf(t, string(text), "## Which Take")
	if want := slices.Sorted(maps.Keys(ways)); !slices.Equal(slices.Sorted(maps.Keys(table)), want) {
		t.Fatalf("the table has the Takes %v, want %v", slices.Sorted(maps.Keys(table)), want)
	}
	if want := slices.Sorted(maps.Keys(probes)); !slices.Equal(slices.Sorted(slices.Values(options)), want) {
		t.Fatalf("the table has the options %v, want %v", options, want)
	}
	doc, err := os.ReadFile("../../cache/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, cells := range table { // the package's documentation has the same table
		row := regexp.MustCompile(`(?m)^//\t.*\b` + name + `\b.*?  +(.*)$`).FindSubmatch(doc)
		if row == nil || !slices.Equal(regexp.MustCompile(`  +`).Split(string(row[1]), -1), cells) {
			t.Errorf("cache/doc.go has the row %q of %s, want %q", row, name, cells)
		}
	}
	for name, take := range ways {
		for i, option := range options {
			synctest.Test(t, func(t *testing.T) {
				got := probes[option](t, take)
				if want := table[name][i]; got != want {
					t.Errorf("%s honours %s: %s, and the table says %q", name, option, got, want)
				}
				time.Sleep(time.Minute) // the load may still run
			})
		}
	}
}

// tableOf returns the first table below a heading: the head of its columns, and the cells of each
// name in the first one.
func tableOf(t *testing.T, text, heading string) (columns []string, rows map[string][]string) {
	t.Helper()
	_, section, found := strings.Cut(text, heading+"\n")
	if !found {
		t.Fatalf("no heading %q", heading)
	}
	rows = map[string][]string{}
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if columns != nil {
				break
			}
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		switch {
		case columns == nil:
			columns = cells[1:]
		case strings.HasPrefix(cells[0], "-"):
		default:
			for name := range strings.SplitSeq(cells[0], ", ") {
				rows[strings.Trim(name, "`")] = cells[1:]
			}
		}
	}
	return columns, rows
}
