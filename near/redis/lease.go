package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
)

// Lease reads keys, and takes a lease on each that is missing, in one round trip to each
// server. It takes over a lease without a TTL, which a PERSIST or a migration may have left.
func (r *Redis) Lease(ctx context.Context, life time.Duration, keys ...string) ([]near.Item, error) {
	if life < time.Millisecond {
		return nil, fmt.Errorf("near/redis: the lease is %v: want at least %v, and longer than a load; was a unit forgotten, as in %d*time.Second?", life, time.Millisecond, life)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	d, err := r.use()
	if err != nil {
		return nil, err
	}
	defer r.done(d)
	token := rand.Text() // one for all keys: key and token together identify a lease
	replies := leaseScript.run(ctx, d, keys, leaseMark+token, strconv.FormatInt(milliseconds(life), 10), leaseMark)
	items := make([]near.Item, len(keys))
	for i, key := range keys {
		if items[i], err = readLease(replies[i], token); err != nil {
			return nil, failed("reading", key, err)
		}
	}
	return items, nil
}

// readLease returns the item of a reply of leaseScript, which is nil if it took the lease.
func readLease(reply rueidis.RedisResult, token string) (near.Item, error) {
	pair, err := reply.ToArray()
	if rueidis.IsRedisNil(err) {
		return near.Item{State: near.Missing, Token: token}, nil
	}
	if err != nil {
		return near.Item{}, err
	}
	if len(pair) != 2 {
		return near.Item{}, fmt.Errorf("%d values, want 2", len(pair))
	}
	data, err := pair[0].AsBytes()
	if err != nil {
		return near.Item{}, err
	}
	left, err := pair[1].AsInt64()
	if err != nil {
		return near.Item{}, err
	}
	return decode(data, left), nil
}

// Fill stores an item in the place of a lease.
func (r *Redis) Fill(ctx context.Context, key, token string, item near.Item) (bool, error) {
	return r.endLease(ctx, fillScript, key, token, encode(item), strconv.FormatInt(milliseconds(item.TTL), 10))
}

// Release removes a lease.
func (r *Redis) Release(ctx context.Context, key, token string) error {
	_, err := r.endLease(ctx, releaseScript, key, token)
	return err
}

// endLease reports whether the lease was there.
func (r *Redis) endLease(ctx context.Context, s script, key, token string, args ...string) (bool, error) {
	d, err := r.use()
	if err != nil {
		return false, err
	}
	defer r.done(d)
	args = append([]string{r.options.Channel, leaseMark + token}, args...)
	was, err := s.run(ctx, d, []string{key}, args...)[0].AsInt64()
	return was == 1, failed("ending the lease of", key, err)
}
