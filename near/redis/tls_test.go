package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// tlsServer runs a server that speaks TLS at addr, and its redistest.Server without. Its
// certificate is signed by itself, for 127.0.0.1, and trusted by roots.
func tlsServer(t testing.TB) (s *redistest.Server, addr string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	roots = x509.NewCertPool()
	certificate, err := x509.ParseCertificate(der)
	check(t, err)
	roots.AddCert(certificate)
	write := func(name, kind string, content []byte) (file string) {
		file = filepath.Join(t.TempDir(), name)
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
		"--tls-cert-file", public, "--tls-key-file", write("server.key", "PRIVATE KEY", private)), addr, roots
}

// TestTLS: values and changes go over TLS, also after a reconnect, and a server whose
// certificate is not trusted is refused.
func TestTLS(t *testing.T) {
	s, addr, roots := tlsServer(t)
	_, port, _ := net.SplitHostPort(addr)
	r := open(t, redis.Options{Client: rueidis.ClientOption{TLSConfig: &tls.Config{RootCAs: roots}}}, addr)
	w := watch(t, r, lag)
	check(t, r.Set(t.Context(), "user:1", found("one")))
	w.awaitKey(t, "user:1")
	if got := get(t, r, "user:1"); string(got.Value) != "one" {
		t.Errorf("%+v", got)
	}
	list := do(t, s, "CLIENT", "LIST")
	text, err := list.ToString()
	check(t, err)
	over := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, " laddr="+addr+" ") {
			over++
		}
	}
	if over < 2 { // the watch, and the store's
		t.Errorf("%d connections to port %s: %s", over, port, text)
	}
	w.awaitAgain(t, "the reconnect", func() { do(t, s, "CLIENT", "KILL", "ID", trackerID(t, s)) })
	check(t, r.Set(t.Context(), "user:2", found("two")))
	w.awaitKey(t, "user:2")

	for name, config := range map[string]*tls.Config{"not trusted": {RootCAs: x509.NewCertPool()}, "another name": {RootCAs: roots, ServerName: "example.com"}} {
		o := redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: config}}
		if r, err := redis.New(t.Context(), o); err == nil {
			r.Close()
			t.Errorf("%s: no error", name)
		} else if text := fmt.Sprint(err); !strings.Contains(text, "x509") || !strings.Contains(text, addr) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
