package gozero_test

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/logx/logtest"
	"github.com/zeromicro/go-zero/core/stores/cache"
	gozeroredis "github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestTLS: with Tls in the settings, values and changes go over TLS, to a server whose
// certificate is of the CA, or to any with InsecureSkipVerify, which the log says.
//
// Catches: settings that go-zero's connections follow and those of near/redis do not.
func TestTLS(t *testing.T) {
	s, addr, _, err := redistest.StartTLS()
	redistest.Started(t, s, err)
	var settings struct{ Cache cache.CacheConf }
	check(t, conf.LoadFromYamlBytes(fmt.Appendf(nil, "Cache:\n- Host: %s\n  Tls: true\n  PingTimeout: 5s\n", addr), &settings))
	for name, near := range map[string]gozero.Conf{"CA": {CA: certificateOf(t, addr)}, "any": {InsecureSkipVerify: true}} {
		t.Run(name, func(t *testing.T) {
			logx.SetLevel(logx.ErrorLevel)
			defer logx.Disable()
			log := logtest.NewCollector(t)
			c := newNear(t, near, settings.Cache)
			if said := strings.Contains(log.String(), "InsecureSkipVerify"); said != near.InsecureSkipVerify {
				t.Errorf("the log says: %s", log.String())
			}
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
		})
	}
}

// certificateOf returns a file with the certificate of a server.
func certificateOf(t *testing.T, addr string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	check(t, err)
	defer conn.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw}
	check(t, os.WriteFile(file, pem.EncodeToMemory(&block), 0o600))
	return file
}

// TestUntrusted checks that a server whose certificate is not trusted is refused before it
// gets a password, also if its node is NonBlock, and that neither settings nor errors print one.
func TestUntrusted(t *testing.T) {
	s, addr, _, err := redistest.StartTLS()
	redistest.Started(t, s, err)
	const secret = "hunter2"
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(notPEM, []byte("no certificate"), 0o600))
	for name, c := range map[string]struct {
		conf gozero.Conf
		host string
		tls  bool
		says string
	}{
		"not trusted":      {gozero.Conf{}, addr, true, "x509"},
		"one of a cluster": {gozero.Conf{}, "127.0.0.1:1," + addr, true, "x509"},
		"no file":          {gozero.Conf{CA: notPEM + ".none"}, addr, true, "CA: open"},
		"no certificate":   {gozero.Conf{CA: notPEM}, addr, true, "no PEM certificate"},
		"CA and none":      {gozero.Conf{CA: notPEM, InsecureSkipVerify: true}, addr, true, "want one"},
		"CA without Tls":   {gozero.Conf{CA: notPEM}, addr, false, "no Redis has Tls"},
		"a URL":            {gozero.Conf{}, "rediss://app:" + secret + "@" + addr, true, "Host is a URL"},
	} {
		all := nodes(c.host)
		all[0].NonBlock, all[0].Tls, all[0].Pass = true, c.tls, secret
		if strings.Contains(c.host, ",") {
			all[0].Type = gozeroredis.ClusterType
		}
		made, err := gozero.New(c.conf, all, errNotFound)
		if err == nil {
			check(t, made.Close(t.Context()))
			t.Errorf("%s: no error", name)
		} else if text := err.Error(); !strings.Contains(text, c.says) || strings.Contains(text, secret) {
			t.Errorf("%s: %v, want %q in it", name, err, c.says)
		}
	}
	password := server(t, "--requirepass", secret)
	withPassword := nodes(password.Addr)
	withPassword[0].Pass = secret
	c := newNear(t, gozero.Conf{}, withPassword)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, secret) {
			t.Errorf("%s: %s", verb, text)
		}
	}
}
