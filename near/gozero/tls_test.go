package gozero_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/stores/cache"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestTLS: with Tls in the settings, values and changes go over TLS. As in go-zero, any
// certificate is accepted.
//
// Catches: settings that go-zero's connections follow and those of near/redis do not.
func TestTLS(t *testing.T) {
	s, addr, _, err := redistest.StartTLS()
	redistest.Started(t, s, err)
	var settings struct{ Cache cache.CacheConf }
	check(t, conf.LoadFromYamlBytes(fmt.Appendf(nil, "Cache:\n- Host: %s\n  Tls: true\n  PingTimeout: 5s\n", addr), &settings))
	c := newNear(t, gozero.Conf{}, settings.Cache)

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
