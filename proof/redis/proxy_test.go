package redis_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// newProxy is a proxy before a server, until the test ends.
func newProxy(t *testing.T, addr string) *neartest.Proxy {
	t.Helper()
	p, err := neartest.NewProxy(addr)
	check(t, err)
	t.Cleanup(p.Close)
	return p
}

// directions are those in which faults happen.
var directions = map[string]neartest.Direction{"to": neartest.ToServer, "from": neartest.FromServer, "both": neartest.BothWays}

// TestNetworkFaults breaks the way of the instances to Redis and back, each alone. Writers use
// another way.
//
// Catches: a silent connection that is trusted for longer than MaxLag, a broken one that is
// not replaced, answers and changes that overtake each other, messages in pieces.
func TestNetworkFaults(t *testing.T) {
	for name, fault := range neartest.Faults() {
		for way, direction := range directions {
			if *rounds == 1 && name != "Stall" && way != "from" {
				continue
			}
			eachMode(t, name+"/"+way, []string{"Stall/from", "Pieces/from"}, func(t *testing.T, args []string) {
				s := server(t, args...)
				p := newProxy(t, s.Addr)
				f := newFleet(t, redis.Options{}, p.Addr)
				f.Run(t, foreignDel(t, s), func() {
					for range *rounds {
						time.Sleep(rand.N(maxLag / 2))
						over := p.Begin(fault, direction)
						time.Sleep(3 * maxLag / 2)
						over()
					}
				})
				f.Verdict(t)
			})
		}
	}
}

// TestSwitchedAddress lets the address of the instances lead to another server, and back, while
// both servers run. A write counts when both have removed the copy.
//
// Catches: an instance that reads from one server and watches the other.
func TestSwitchedAddress(t *testing.T) {
	t.Parallel()
	s, other := server(t), server(t)
	p := newProxy(t, s.Addr)
	f := newFleet(t, redis.Options{}, p.Addr)
	here, there := foreignDel(t, s), foreignDel(t, other)
	f.Run(t, func(ctx context.Context, instance, key int) error {
		return errors.Join(here(ctx, instance, key), there(ctx, instance, key))
	}, func() {
		for range 4 * *rounds {
			s, other = other, s
			p.Turn(s.Addr, true)
			time.Sleep(2 * maxLag)
		}
	})
	f.Verdict(t)
}
