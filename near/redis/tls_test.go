package redis_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
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
	w := neartest.Record(t, r, lag)
	check(t, r.Set(t.Context(), "user:1", found("one")))
	w.AwaitKey(t, "user:1")
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
	w.AwaitAgain(t, "the reconnect", func() { do(t, s, "CLIENT", "KILL", "ID", trackerID(t, s)) })
	check(t, r.Set(t.Context(), "user:2", found("two")))
	w.AwaitKey(t, "user:2")

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
