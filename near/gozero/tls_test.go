package gozero_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/stores/cache"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// tlsServer runs a server that speaks TLS at addr, with a certificate signed by itself, and
// returns its redistest.Server without TLS.
func tlsServer(t *testing.T) (s *redistest.Server, addr string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	dir := t.TempDir()
	write := func(name, kind string, content []byte) string {
		file := filepath.Join(dir, name)
		check(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return file
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that nobody listens on
	check(t, err)
	addr = l.Addr().String()
	check(t, l.Close())
	_, port, _ := net.SplitHostPort(addr)
	public := write("server.crt", "CERTIFICATE", der)
	return server(t, "--tls-port", port, "--tls-auth-clients", "no", "--tls-ca-cert-file", public,
		"--tls-cert-file", public, "--tls-key-file", write("server.key", "PRIVATE KEY", private)), addr
}

// TestTLS: with Tls in the settings, values and changes go over TLS. As in go-zero, any
// certificate is accepted.
//
// Catches: settings that go-zero's connections follow and those of near/redis do not.
func TestTLS(t *testing.T) {
	s, addr := tlsServer(t)
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
