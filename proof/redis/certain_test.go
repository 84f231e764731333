package redis_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// certainly connects three instances of a service that revokes what it writes, and marks it.
func certainly(t testing.TB, addrs ...string) *fleet {
	t.Helper()
	strict := func(o *near.Options[int, row]) { o.Strict = true }
	f := connectWith(t, strict, func(s near.Source) near.Source { return s }, redis.Options{Fleet: "rows"}, addrs...)
	f.Certain, f.Marks = true, true
	f.db.remove = f.revoke
	return f
}

// revoke revokes by the cache of an instance.
func (f *fleet) revoke(ctx context.Context, row int) error {
	return f.Instances()[row%instances].(cached).Revoke(ctx, row)
}

// TakeSince makes a cached neartest.Marking.
func (c cached) TakeSince(ctx context.Context, mark near.Mark, key int, load func(context.Context) (int, error)) (int, error) {
	got, err := c.Cache.TakeSince(ctx, mark, key, func(ctx context.Context) (row, error) {
		version, err := load(ctx)
		return row{version}, err
	})
	return got.Version, err
}

// TestCertainOverFaults causes faults of the server while what is written is revoked, and marked.
//
// Catches: a fault after which a read that began after Revoke had returned gets what was there
// before, or a read since a mark an older version.
func TestCertainOverFaults(t *testing.T) {
	for _, c := range serverFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := server(t, c.args...)
			f := certainly(t, s.Addr)
			f.Run(t, func() {
				for range 2 * *rounds {
					c.fault(t, s)
					time.Sleep(c.pause)
				}
			})
			f.Verdict(t)
		})
	}
}

// TestCertainOverANetwork is the same with faults of the network, in one direction or in both.
func TestCertainOverANetwork(t *testing.T) {
	for name, fault := range neartest.Faults {
		if *rounds == 1 && name != "stall" && name != "slow" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := neartest.NewProxy(t, server(t).Addr)
			f := certainly(t, p.Addr)
			f.Run(t, func() {
				for range 3 * *rounds {
					directions := []neartest.Direction{neartest.ToServer, neartest.FromServer}[rand.N(2):]
					p.Suffer(fault, rand.N(3*maxLag), directions...)
					time.Sleep(rand.N(maxLag))
				}
			})
			f.Verdict(t)
		})
	}
}

// TestCertainNotices gives the same fleet instances that wait for too short after a removal, or make
// their marks too early.
//
// Catches: an oracle that finds nothing.
func TestCertainNotices(t *testing.T) {
	for name, lie := range map[string]struct {
		tell  func(f *fleet)
		found func(f *fleet) int
	}{
		"Del is taken for Revoke": {
			func(f *fleet) { f.db.remove = f.del },
			func(f *fleet) int { return f.Stale() },
		},
		"marks from before the write": {
			func(f *fleet) {
				for i, one := range f.Instances() {
					f.Instances()[i] = early{neartest.MarkedEarly(one.(cached)), one.(cached)}
				}
				f.db.remove = f.del
				f.Certain = false
			},
			func(f *fleet) int { return f.Older() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := neartest.NewProxy(t, server(t).Addr)
			f := certainly(t, p.Addr)
			lie.tell(f)
			f.Run(t, func() {
				for end := time.Now().Add(time.Minute); lie.found(f) == 0 && time.Now().Before(end); {
					p.Suffer(neartest.Faults["slow"], maxLag, neartest.FromServer)
				}
			})
			t.Log(f)
			if lie.found(f) == 0 {
				t.Error("the oracle finds nothing")
			}
		})
	}
}

// An early is an instance that hands out marks from before the write, and can remove.
type early struct {
	neartest.Marking
	cached
}

func (e early) Mark(ctx context.Context) (near.Mark, error) { return e.Marking.Mark(ctx) }

func (e early) Take(ctx context.Context, key int, load func(context.Context) (int, error)) (int, error) {
	return e.cached.Take(ctx, key, load)
}

func (e early) TakeSince(ctx context.Context, mark near.Mark, key int, load func(context.Context) (int, error)) (int, error) {
	return e.cached.TakeSince(ctx, mark, key, load)
}
