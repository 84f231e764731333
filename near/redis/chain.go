package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
)

// A Chain is how a relay removes keys, and how others know what it has removed. Package near/relay
// uses it.
//
// Each step of a relay is one script. It looks whether Redis has the steps before it, removes keys,
// and stores its number. Writes reach replicas, snapshots and append-only files in their order; so
// a server that has a step has all steps before it, also after a failover, a restart or a restore.
//
// A beat is a step that all watchers are told of.
type Chain struct {
	r     *Redis
	key   string // has the last step: the relay, its beats, its steps
	beats string // the beginning of the keys by which beats are told
}

// A Beat is a step of a relay. Relays number theirs 1, 2, 3 and so on.
type Beat struct {
	Relay  string // no two relays have the same
	Number uint64
}

const (
	chainPrefix = "pinwheel:relay:"
	beatPrefix  = "pinwheel:beat:"
)

// beats returns the beginning of the keys by which a relay's beats are told.
func beats(relay string) string { return beatPrefix + relay + ":" }

var (
	errNoRelay        = errors.New("near/redis: Options.Relay is empty: want the name that the relay has, such as \"main\"")
	errChainInCluster = errors.New("near/redis: a relay in a cluster is not supported: each of its masters may lose removals by itself; want one server, or Sentinels")
)

// Chain returns the chain of the relay that the options name.
func (r *Redis) Chain() (*Chain, error) {
	if r.options.Relay == "" {
		return nil, errNoRelay
	}
	return &Chain{r, chainPrefix + r.options.Relay, beats(r.options.Relay)}, nil
}

// Heard reports whether a key that has changed tells of a beat, and of which.
func (c *Chain) Heard(key string) (Beat, bool) {
	rest, ok := strings.CutPrefix(key, c.beats)
	if !ok {
		return Beat{}, false
	}
	relay, text, _ := strings.Cut(rest, ":")
	number, err := strconv.ParseUint(text, 10, 64)
	return Beat{relay, number}, err == nil
}

// Get is that of the Redis. It also returns the last beat that the server had before it read the keys:
// the items have all removals before that beat, whatever the server has lost since.
func (c *Chain) Get(ctx context.Context, keys ...string) (items []near.Item, last Beat, err error) {
	return c.behind(ctx, func(d rueidis.Client) ([]near.Item, error) { return get(ctx, d, keys) })
}

// Lease is that of the Redis, and returns a beat as Get does.
func (c *Chain) Lease(ctx context.Context, life time.Duration, keys ...string) (items []near.Item, last Beat, err error) {
	if err := checkLease(life); err != nil || len(keys) == 0 {
		return nil, Beat{}, err
	}
	return c.behind(ctx, func(d rueidis.Client) ([]near.Item, error) { return lease(ctx, d, life, keys) })
}

// behind reads the last step and then what read reads.
func (c *Chain) behind(ctx context.Context, read func(rueidis.Client) ([]near.Item, error)) ([]near.Item, Beat, error) {
	type answer struct {
		items []near.Item
		last  Beat
	}
	got, err := inTime(ctx, c.r, func(d *data) (answer, error) {
		if d.cluster {
			return answer{}, errChainInCluster
		}
		first := &firstReader{Client: d, key: c.key}
		items, err := read(first)
		if err == nil {
			err = first.err
		}
		return answer{items, parseStep(first.value)}, err
	})
	return got.items, got.last, err
}

// A firstReader is a client that reads a key before all other commands, in the same packet.
type firstReader struct {
	rueidis.Client
	key   string
	asked bool
	value string
	err   error
}

// DoMulti reads the key first the first time.
func (f *firstReader) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	if f.asked {
		return f.Client.DoMulti(ctx, commands...)
	}
	f.asked = true
	replies := f.Client.DoMulti(ctx, append(rueidis.Commands{f.B().Get().Key(f.key).Build()}, commands...)...)
	if f.value, f.err = replies[0].ToString(); rueidis.IsRedisNil(f.err) {
		f.err = nil
	}
	return replies[1:]
}

// parseStep returns the beat in what the key of a chain has, or none.
func parseStep(value string) Beat {
	fields := strings.Fields(value)
	if len(fields) != 3 {
		return Beat{}
	}
	number, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return Beat{}
	}
	return Beat{fields[0], number}
}
