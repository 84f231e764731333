package redis_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// A groupRemover is an instance that removes by groups.
type groupRemover interface {
	DelGroup(ctx context.Context, groups ...string) error
}

// TestGroupsOverRedis has writers remove the group of a row, never its key, while the network fails, and
// Redis loses generations and their counter.
//
// Catches: a member that is returned or stored after its group was removed; one that comes back with a
// lost generation.
func TestGroupsOverRedis(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := neartest.NewProxy(t, s.Addr)
	const groups = 10
	groupOf := func(key int) string { return strconv.Itoa(key % groups) }
	group := func(o *near.Options[int, row]) {
		o.Groups = func(key int, _ row) []string { return []string{groupOf(key), "all"} }
	}
	f := connectWith(t, group, func(s near.Source) near.Source { return s }, redis.Options{}, p.Addr)
	f.db.remove = func(ctx context.Context, row int) error {
		return f.Instances()[row%instances].(groupRemover).DelGroup(ctx, groupOf(row))
	}
	f.Run(t, func() {
		for i := range groups {
			do(t, s, "DEL", prefix+"\x00near\x00@"+strconv.Itoa(i))
			do(t, s, "DEL", prefix+"\x00near\x00#")
		}
		p.Suffer(neartest.Faults["stall"], 3*maxLag/2, neartest.FromServer)
		do(t, s, "DEL", prefix+"\x00near\x00@all")
	})
	f.Verdict(t)
}
