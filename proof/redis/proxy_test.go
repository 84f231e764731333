package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// A link is a proxy between the instances and Redis that does what networks do.
type link struct{ *toxiproxy.Proxy }

func newLink(t *testing.T, to string) link {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	proxy := toxiproxy.NewProxy(api, t.Name(), "127.0.0.1:0", to)
	check(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	return link{proxy}
}

// suffer adds a toxic in a direction, or both, for a while.
func (l link) suffer(t *testing.T, kind, attributes string, directions []string, during time.Duration) {
	t.Helper()
	var names []string
	for _, direction := range directions {
		toxic := fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": {%s}}`, kind, direction, attributes)
		w, err := l.Toxics.AddToxicJson(strings.NewReader(toxic))
		check(t, err)
		names = append(names, w.Name)
	}
	time.Sleep(during)
	for _, name := range names {
		check(t, l.Toxics.RemoveToxic(context.Background(), name))
	}
}

// TestNetworkFaults breaks the way to Redis and back, each by itself, for the instances.
// Who writes is elsewhere, and goes on.
//
// Catches: a silent connection that is trusted for longer than MaxLag, a broken one that
// stays deaf, answers and changes that overtake each other, messages in pieces.
func TestNetworkFaults(t *testing.T) {
	for _, c := range networkFaults {
		for name, directions := range map[string][]string{"to": {"upstream"}, "from": {"downstream"}, "both": {"upstream", "downstream"}} {
			if *rounds == 1 && c.toxic != "timeout" && name != "from" {
				continue
			}
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := server(t)
				l := newLink(t, s.Addr)
				f := newFleet(t, redis.Options{}, l.Listen)
				f.runWith(t, f.foreignDel(t, s), func() {
					for range *rounds {
						time.Sleep(rand.N(maxLag / 2))
						l.suffer(t, c.toxic, c.attributes, directions, 3*maxLag/2)
					}
				})
				f.verdict(t)
			})
		}
	}
}

// networkFaults are what happens to one direction of a connection, or both.
var networkFaults = []struct{ name, toxic, attributes string }{
	{"cut", "reset_peer", `"timeout": 0`},
	{"stall", "timeout", `"timeout": 0`},
	{"slow", "latency", `"latency": 30, "jitter": 30`},
	{"halve", "slicer", `"average_size": 16, "size_variation": 8, "delay": 50`},
	{"end in the middle", "limit_data", `"bytes": 1000`},
}
