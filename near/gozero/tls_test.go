package gozero_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestTLS: with Tls in the settings, values and changes go over TLS.
//
// Catches: settings that go-zero's connections follow and those of near/redis do not.
func TestTLS(t *testing.T) {
	s, addr, _, err := redistest.StartTLS()
	redistest.Started(t, s, err)
	var settings struct{ Cache cache.CacheConf }
	check(t, conf.LoadFromYamlBytes(fmt.Appendf(nil, "Cache:\n- Host: %s\n  Tls: true\n  PingTimeout: 5s\n", addr), &settings))
	c := newNear(t, gozero.Conf{CA: s.Certificate()}, settings.Cache)

	const key = "cache:user:1"
	var got row
	check(t, c.Set(key, row{Name: "ann"}))
	before := hits(t)
	await(t, "a hit", func() bool { // after the push for the Set, which may come after a Take
		check(t, c.Take(&got, key, nil))
		return got.Name == "ann" && hits(t) > before
	})
	check(t, plain(settings.Cache).Set(key, row{Name: "bob"}))
	await(t, "the change", func() bool { return c.Get(key, &got) == nil && got.Name == "bob" })

	watches := regexp.MustCompile(` laddr=` + regexp.QuoteMeta(addr) + ` .*flags=\w*t`)
	if list := do(t, s, "CLIENT", "LIST"); !watches.MatchString(list) {
		t.Errorf("no connection to %s that tracks:\n%s", addr, list)
	}
}

// TestTLSIsVerified: a server whose certificate nobody known has signed gets no password, unless
// the settings accept any.
func TestTLSIsVerified(t *testing.T) {
	s, addr, _, err := redistest.StartTLS()
	redistest.Started(t, s, err)
	do(t, s, "CONFIG", "SET", "requirepass", "hunter2")
	nodes := cache.CacheConf{{RedisConf: redis.RedisConf{Host: addr, Type: "node", Pass: "hunter2", Tls: true, PingTimeout: 5 * time.Second}, Weight: 100}}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	check(t, os.WriteFile(empty, nil, 0o600))
	for _, test := range []struct {
		conf gozero.Conf
		want string
	}{
		{gozero.Conf{}, "want the PEM file of its authority as CA"},
		{gozero.Conf{CA: "/no/such.pem"}, "no such file"},
		{gozero.Conf{CA: empty}, "no certificate in "},
		{gozero.Conf{CA: s.Certificate(), InsecureSkipVerify: true}, "want one of them"},
	} {
		test.conf.Name = t.Name()
		_, err := gozero.New(test.conf, nodes, errNotFound)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, want %q", test.conf, err, test.want)
		}
	}
	for _, conf := range []gozero.Conf{{CA: s.Certificate()}, {InsecureSkipVerify: true}} {
		conf.Name = t.Name()
		c, err := gozero.New(conf, nodes, errNotFound)
		check(t, err)
		check(t, c.Close(t.Context()))
	}
	nodes[0].Tls = false
	if _, err := gozero.New(gozero.Conf{Name: t.Name(), CA: s.Certificate()}, nodes, errNotFound); err == nil || !strings.Contains(err.Error(), "has no Tls") {
		t.Errorf("CA without Tls: %v", err)
	}
}
