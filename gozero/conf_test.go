package gozero_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/logx/logtest"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
)

// A service has the settings of a service with a cache.
type service struct{ Users gozero.Conf }

func load(t *testing.T, lines ...string) (gozero.Conf, error) {
	t.Helper()
	var c service
	err := loadYAML("Users:\n  "+strings.Join(lines, "\n  ")+"\n", &c)
	return c.Users, err
}

// loadYAML reads settings by go-zero. Version 1.7 panics where later ones return an error.
func loadYAML(yaml string, to any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return conf.LoadFromYamlBytes([]byte(yaml), to)
}

func TestConfFields(t *testing.T) {
	if got, err := load(t, "Name: users"); got != (gozero.Conf{Name: "users", Jitter: 0.05}) || err != nil {
		t.Errorf("the defaults are %+v, %v", got, err)
	}
	got, err := load(t, "Name: users", "Limit: 1000", "Expire: 5m", "Idle: 1h30m", "Jitter: 0.1",
		"Workers: 3", "HotKeys: 20", "Ages: true", "WhatIf: true",
		"Refresh: 0.8", "Grace: 10m", "Patience: 200ms", "Timeout: 2s", "MaxLoads: 50", "NotFoundExpire: 10s")
	must(t, err)
	want := gozero.Conf{Name: "users", Limit: 1000, Expire: 5 * time.Minute, Idle: 90 * time.Minute, Jitter: 0.1,
		Workers: 3, HotKeys: 20, Ages: true, WhatIf: true,
		Refresh: 0.8, Grace: 10 * time.Minute, Patience: 200 * time.Millisecond, Timeout: 2 * time.Second, MaxLoads: 50,
		NotFoundExpire: 10 * time.Second}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if c, err := load(t, "Name: users", "MaxWeight: 1000"); c.MaxWeight != 1000 || err != nil {
		t.Errorf("MaxWeight is %d, %v", c.MaxWeight, err)
	}
	var o cache.Options[string, int]
	closed(t, gozero.MustNewCache(got, nil, func(of *cache.Options[string, int]) { o = *of })) // nil is skipped
	got = gozero.Conf{Name: o.Name, Limit: o.Limit, Expire: o.Expire, Idle: o.Idle, Jitter: o.Jitter,
		Workers: o.Workers, HotKeys: o.HotKeys, Ages: o.Ages, WhatIf: o.WhatIf,
		Refresh: o.Refresh, Grace: o.Grace, Patience: o.Patience, Timeout: o.Timeout, MaxLoads: o.MaxLoads,
		NotFoundExpire: o.Negative(sql.ErrNoRows)}
	if got != want {
		t.Errorf("the cache gets %+v, want %+v", got, want)
	}
}

// TestConfMistakes checks that mistakes in YAML are errors of go-zero's conf or of NewCache.
func TestConfMistakes(t *testing.T) {
	for _, test := range []struct{ yaml, want string }{
		{"Limit: 10", `"Users.Name" is not set`},
		{"Name: users\n  Expire: 60", "string"}, // of the messages of all versions
		{"Name: users\n  Expire: '60'", "missing unit in duration"},
		{"Name: users\n  Expire: 1d", `unknown unit "d"`},
		{"Name: users\n  Expire: -60s", "Expire is -1m0s: want a positive time, or 0 for never"},
		{"Name: users\n  Expire: 5us", "Expire is 5µs: want at least 1ms, such as 5s or 5m, or 0s for never"},
		{"Name: users\n  Idle: 999us", "Idle is 999µs: want at least 1ms, such as 5s or 5m, or 0s for never"},
		{"Name: users\n  Idle: -1s", "Idle is -1s: want a positive time"},
		{"Name: users\n  Limit: -1", "Limit is -1: want the most entries, or 0 for no limit"},
		{"Name: users\n  MaxWeight: 100", "MaxWeight is 100 without Weigh: want Weigh too, or Limit"},
		{"Name: users\n  MaxWeight: -1", `parsing "-1"`},
		{"Name: users\n  Limit: 5m", `mismatch for field "Users.limit"`},
		{"Name: users\n  Jitter: 5", "Jitter is 5: want a fraction"},
		{"Name: users\n  Workers: -1", "Workers is -1: want the most calls"},
		{"Name: users\n  HotKeys: -1", "HotKeys is -1: want how many"},
		{"Name: users\n  WhatIf: true", "WhatIf is set without Limit"},
		{"Name: users\n  Refresh: 1", "Refresh is 1: want a fraction"},
		{"Name: users\n  Grace: 5us", "Grace is 5µs: want at least 1ms, such as 5s or 5m, or 0s for never"},
		{"Name: users\n  Grace: -5m", "Grace is -5m0s: want a positive time"},
		{"Name: users\n  Timeout: 5us", "Timeout is 5µs: want at least 1ms"},
		{"Name: users\n  Patience: 5us", "Patience is 5µs: want at least 1ms"},
		{"Name: users\n  Patience: 1s", "Patience is 1s without Grace: want Grace too"},
		{"Name: users\n  Grace: 5m\n  Patience: 2s\n  Timeout: 1s", "Patience is 2s and Timeout 1s: want a Patience below Timeout"},
		{"Name: users\n  MaxLoads: -1", "MaxLoads is -1: want the most loads"},
		{"Name: users\n  NotFoundExpire: 5us", "NotFoundExpire is 5µs: want at least 1ms"},
		{"Name: users\n  NotFoundExpire: -5s", "NotFoundExpire is -5s: want a positive time, such as 10s, or 0s for not at all"},
		{"Name: users\n  SnapshotEvery: 5m", "SnapshotEvery is 5m0s without Snapshot: want Snapshot too, a file"},
		{"Name: users\n  Snapshot: users.cache\n  SnapshotEvery: 5ms", "SnapshotEvery is 5ms: want at least 1s"},
		{"Name: users\n  Snapshot: users.cache\n  SnapshotEvery: -1m", "SnapshotEvery is -1m0s: want at least 1s"},
		{"Name: users\n  Snapshot: conf.go/users.cache", "Snapshot is conf.go/users.cache: its folder cannot be made: "},
	} {
		c, err := load(t, test.yaml)
		if err == nil {
			_, err = gozero.NewCache[string, int](c)
			if err != nil && !strings.Contains(err.Error(), `cache "users"`) {
				t.Errorf("%s: %v does not say which cache", test.yaml, err)
			}
			if !errors.Is(err, cache.ErrArgument) {
				t.Errorf("%s: %v is no ErrArgument", test.yaml, err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.yaml, err, test.want)
		}
	}
}

// TestNoLimitIsLogged checks that a misspelt limit, which go-zero's conf ignores, leads to a
// line in the log.
func TestNoLimitIsLogged(t *testing.T) {
	j := newJournal(t)
	c, err := load(t, "Name: users", "Limt: 100")
	must(t, err)
	closed(t, gozero.MustNewCache[string, int](c))
	j.logged("info", "cache(users) - no limit: ")
	closed(t, limited("few"))
	light := closed(t, gozero.MustNewCache(gozero.Conf{Name: "light", MaxWeight: 7}, func(o *cache.Options[string, int]) {
		o.Weigh = func(string, int) uint32 { return 1 }
	}))
	if got := light.Stats().MaxWeight; got != 7 {
		t.Errorf("MaxWeight is %d, want 7", got)
	}
	closed(t, gozero.MustNewCache(gozero.Conf{Name: "by an option"}, func(o *cache.Options[string, int]) { o.Limit = 1 }))
	j.logged("")
}

func TestMustNewCacheRefuses(t *testing.T) {
	logtest.PanicOnFatal(t)
	j := newJournal(t)
	log.SetOutput(io.Discard) // logx.Must prints there too
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	defer func() {
		if p := recover(); p == nil {
			t.Error("no panic")
		}
		j.logged("fatal", "Limit is -1")
	}()
	gozero.MustNewCache[string, int](gozero.Conf{Name: "users", Limit: -1})
}

func TestNotFound(t *testing.T) {
	own, other := errors.New("no such document"), errors.New("no connection")
	keep := gozero.NotFound(time.Minute, own)
	for err, want := range map[error]time.Duration{
		sql.ErrNoRows:                           time.Minute,
		fmt.Errorf("user 7: %w", sql.ErrNoRows): time.Minute,
		fmt.Errorf("document 7: %w", own):       time.Minute,
		other:                                   0,
		errors.Join(other, context.Canceled):    0,
	} {
		if got := keep(err); got != want {
			t.Errorf("%v is kept for %v, want %v", err, got, want)
		}
	}
}
