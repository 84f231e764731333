package gozero_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/redis"

	pinwheel "github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near/gozero"
	nearredis "github.com/pinwheel-cache/pinwheel/near/redis"
)

// TestRedisAway checks that while Redis cannot be reached callers get the answers of
// go-zero's cache, and values in memory for MaxLag at most; and that afterwards old values
// are gone.
func TestRedisAway(t *testing.T) {
	s := server(t)
	c := newNear(t, gozero.Conf{}, nodes(s.Addr))
	d := &table{row: row{ID: 1}}
	check(t, c.Set(key, row{ID: 1}))
	for range 3 {
		d.take(t, c, key, d.row, nil, 0)
	}
	s.Kill()
	await(t, "an error of go-zero", func() bool { return c.Take(new(row), key, d.query) != nil })
	if d.queries > 0 {
		t.Error("the database is asked while Redis is away, which go-zero spares it")
	}
	check(t, s.Restart())
	d.row.ID = 2
	before := hits(t)
	await(t, "a hit", func() bool { // go-zero's breaker closes again
		var got row
		if c.Take(&got, key, d.query) == nil && got.ID != 2 {
			t.Fatal("Redis has forgotten the row, and it is served")
		}
		return hits(t) > before
	})
}

// TestServerComesLater checks that with NonBlock a cache is made without a server, and
// uses it later.
func TestServerComesLater(t *testing.T) {
	s := server(t)
	s.Kill()
	there := nodes(s.Addr)
	if _, err := gozero.New(gozero.Conf{}, there, errNotFound); err == nil || !strings.Contains(err.Error(), s.Addr) {
		t.Fatalf("no server, and no NonBlock: %v", err)
	}
	there[0].NonBlock = true
	c := newIdle(t, gozero.Conf{MaxLag: maxLag}, there, errNotFound)
	if err := c.Take(new(row), key, nil); err == nil {
		t.Error("no server, and no error")
	}
	check(t, s.Restart())
	await(t, "the server", func() bool { return c.Set(key, 1) == nil })
	awaitServing(t, c)
}

// TestClosed checks that a closed cache works as go-zero's own.
func TestClosed(t *testing.T) {
	s := server(t)
	c, theirs := newNear(t, gozero.Conf{}, nodes(s.Addr)), plain(nodes(s.Addr))
	check(t, c.Close(t.Context()))
	for i := range 10 {
		check(t, theirs.Set(key, i))
		got := -1
		if err := c.Take(&got, key, nil); err != nil || got != i {
			t.Errorf("Take = %d, %v, want %d", got, err, i)
		}
	}
}

// Catches: settings that mean nothing, and errors that do not say what to write.
func TestRefused(t *testing.T) {
	s := server(t)
	resp2 := server(t, "--rename-command", "HELLO", "")
	password := server(t, "--requirepass", "pw")
	withPassword := nodes(password.Addr)
	withPassword[0].NonBlock = true
	notFound := errNotFound
	for name, c := range map[string]struct {
		conf     gozero.Conf
		nodes    cache.CacheConf
		notFound error
		is       error
		says     string
	}{
		"no nodes":         {gozero.Conf{}, nil, notFound, pinwheel.ErrArgument, "Weight"},
		"no weight":        {gozero.Conf{}, cache.CacheConf{{RedisConf: redis.RedisConf{Host: s.Addr, Type: redis.NodeType}}}, notFound, pinwheel.ErrArgument, "Weight"},
		"no host":          {gozero.Conf{}, nodes(""), notFound, pinwheel.ErrArgument, "empty redis host"},
		"no error":         {gozero.Conf{}, nodes(s.Addr), nil, pinwheel.ErrArgument, "sqlc.ErrNotFound"},
		"a forgotten unit": {gozero.Conf{MaxLag: 1000}, nodes(s.Addr), notFound, pinwheel.ErrArgument, "MaxLag"},
		"overlap":          {gozero.Conf{Prefixes: []string{"a", "ab"}}, nodes(s.Addr), notFound, nil, `"a" covers "ab"`},
		"RESP2":            {gozero.Conf{}, nodes(resp2.Addr), notFound, nearredis.ErrNoTracking, "Redis 6"},
		"no password":      {gozero.Conf{}, withPassword, notFound, nil, "NOAUTH"},
	} {
		made, err := gozero.New(c.conf, c.nodes, c.notFound)
		if err == nil {
			check(t, made.Close(t.Context()))
			t.Errorf("%s: no error", name)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q in it", name, err, c.says)
		}
	}
}

// TestConf checks the settings in YAML, and their defaults.
func TestConf(t *testing.T) {
	var c struct{ Near gozero.Conf }
	check(t, conf.LoadFromYamlBytes([]byte("Near:\n  Limit: 100\n  Prefixes: [\"cache:\", \"user:\"]\n"), &c))
	if c.Near.Name != "near" || c.Near.Limit != 100 || c.Near.Expire != 5*time.Minute || c.Near.MaxLag != time.Second || len(c.Near.Prefixes) != 2 {
		t.Errorf("%+v", c.Near)
	}
	check(t, conf.LoadFromYamlBytes([]byte("Near:\n  Expire: 30s\n"), &c))
	if c.Near.Expire != 30*time.Second {
		t.Errorf("%+v", c.Near)
	}
}

// TestMaxBytes checks that entries weigh the bytes of key and JSON.
func TestMaxBytes(t *testing.T) {
	c := newNear(t, gozero.Conf{MaxBytes: 10_000}, nodes(server(t).Addr))
	long := strings.Repeat("x", 20_000)
	check(t, c.Set(key, long))
	for range 3 {
		var got string
		if check(t, c.Take(&got, key, nil)); got != long {
			t.Errorf("got %d bytes", len(got))
		}
	}
	before := hits(t)
	check(t, c.Take(new(string), key, nil))
	if hits(t) != before {
		t.Error("more is kept than MaxBytes")
	}
}
