package redis_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// TestTLS: values and changes go over TLS, also after a reconnect, and a server whose
// certificate is not trusted is refused.
func TestTLS(t *testing.T) {
	s, addr, roots, err := redistest.StartTLS()
	redistest.Started(t, s, err)
	_, port, _ := net.SplitHostPort(addr)
	r := open(t, redis.Options{Client: rueidis.ClientOption{TLSConfig: &tls.Config{RootCAs: roots}}}, addr)
	w := watch(t, r, lag)
	w.TellsKey(t, "user:1", func() { check(t, r.Set(t.Context(), "user:1", found("one"))) })
	if got := get(t, r, "user:1"); string(got.Value) != "one" {
		t.Errorf("%+v", got)
	}
	text := do(t, s, "CLIENT", "LIST")
	if over := strings.Count(text, " laddr="+addr+" "); over < 2 { // the watch, and the store's
		t.Errorf("%d connections to port %s: %s", over, port, text)
	}
	w.AwaitAgain(t, "the reconnect", func() { do(t, s, "CLIENT", "KILL", "ID", strconv.Itoa(field(tracker(t, s), "id"))) })
	w.TellsKey(t, "user:2", func() { check(t, r.Set(t.Context(), "user:2", found("two"))) })

	for name, config := range map[string]*tls.Config{"not trusted": {RootCAs: x509.NewCertPool()}, "another name": {RootCAs: roots, ServerName: "another.example"}} {
		o := redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: config}}
		err := refusal(t, name, o)
		if text := err.Error(); !strings.Contains(text, "x509") || !strings.Contains(text, addr) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
