package redis_test

import (
	"context"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// TestPromises proves the store and the source: on one server in each way to hear of changes, behind a proxy; in a
// cluster; and behind Sentinels.
func TestPromises(t *testing.T) {
	prove := func(name string, make func(t *testing.T) neartest.Subject) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			neartest.Test(t, make)
		})
	}
	for _, mode := range []string{"tracking", "notifications"} {
		s := server(t, modes[mode]...)
		prove(mode, func(t *testing.T) neartest.Subject {
			p := proxy(t, s)
			subject := subjectOf(t, redis.Options{}, rueidis.ClientOption{InitAddress: []string{s.Addr}}, p.Addr)
			subject.Proxy = p
			return subject
		})
	}
	s := server(t)
	prove("channel", func(t *testing.T) neartest.Subject {
		p := proxy(t, s)
		r := open(t, redis.Options{Channel: "changes"}, p.Addr)
		return neartest.Subject{Store: r, Source: r, Prefix: "user:", Proxy: p}
	})
	c, err := redistest.StartCluster(3)
	redistest.Started(t, c, err)
	prove("cluster", func(t *testing.T) neartest.Subject {
		return subjectOf(t, redis.Options{}, rueidis.ClientOption{InitAddress: []string{c.Masters[0].Addr}}, c.Masters[0].Addr)
	})
	f, err := redistest.StartFailover(1)
	redistest.Started(t, f, err)
	prove("Sentinel", func(t *testing.T) neartest.Subject {
		o := rueidis.ClientOption{InitAddress: f.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}
		return subjectOf(t, redis.Options{Client: o}, o, f.Addrs()...)
	})
}

// subjectOf returns a subject at addrs, and a program that knows nothing of it.
func subjectOf(t *testing.T, o redis.Options, foreign rueidis.ClientOption, addrs ...string) neartest.Subject {
	t.Helper()
	foreign.DisableCache = true
	plain, err := rueidis.NewClient(foreign)
	check(t, err)
	t.Cleanup(plain.Close)
	r := open(t, o, addrs...)
	return neartest.Subject{Store: r, Source: r, Prefix: "user:", Foreign: func(ctx context.Context, key string, value []byte) error {
		if value == nil {
			return plain.Do(ctx, plain.B().Del().Key(key).Build()).Error()
		}
		return plain.Do(ctx, plain.B().Set().Key(key).Value(rueidis.BinaryString(value)).Build()).Error()
	}}
}

// proxy leads to a server, until the test ends.
func proxy(t *testing.T, s *redistest.Server) *neartest.Proxy {
	t.Helper()
	p, err := neartest.NewProxy(s.Addr)
	check(t, err)
	t.Cleanup(p.Close)
	return p
}
