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

// Lease reads keys, and takes a lease on each that is missing, due or in its Grace, in one
// round trip to each server. If a server refuses writes (its memory is full, it lacks replicas, or it cannot
// save), missing keys are Missing without a Token. A lease that has lost its TTL, by PERSIST or a
// tool that copies keys, is taken over: nobody would end it.
func (r *Redis) Lease(ctx context.Context, life time.Duration, keys ...string) ([]near.Item, error) {
	if err := checkLease(life); err != nil || len(keys) == 0 {
		return nil, err
	}
	return inTime(ctx, r, func(d *data) ([]near.Item, error) { return lease(ctx, d, life, keys) })
}

// checkLease returns what is wrong with the life of a lease.
func checkLease(life time.Duration) error {
	if life < time.Millisecond {
		return fmt.Errorf("near/redis: the lease is %v: want at least %v, and longer than a load; was a unit forgotten, as in %d*time.Second?", life, time.Millisecond, life)
	}
	return nil
}

func lease(ctx context.Context, d rueidis.Client, life time.Duration, keys []string) (items []near.Item, err error) {
	token := rand.Text() // one for all keys: key and token together identify a lease
	replies := leaseScript.run(ctx, d, keys, token, strconv.FormatInt(milliseconds(life), 10), leaseMark, agedMark)
	items = make([]near.Item, len(keys))
	for i, key := range keys {
		items[i], err = readLease(replies[i], token)
		if refusesWrites(err) {
			return get(ctx, d, keys) // leases that were taken end by themselves
		}
		if err != nil {
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
	item := decode(data, left)
	if item.State == near.Found && item.Holder == token {
		item.Token, item.Holder = token, ""
	}
	return item, nil
}

// Fill stores an item in the place of a lease, or of the item that has one.
func (r *Redis) Fill(ctx context.Context, key, token string, item near.Item) (bool, error) {
	return r.endLease(ctx, fillScript, key, token, encode(item), strconv.FormatInt(life(item), 10))
}

// Release removes a lease in place of a value, and has one beside a value go on without a holder.
func (r *Redis) Release(ctx context.Context, key, token string) error {
	_, err := r.endLease(ctx, releaseScript, key, token, near.Paused)
	return err
}

// endLease reports whether the lease was there.
func (r *Redis) endLease(ctx context.Context, s script, key, token string, args ...string) (bool, error) {
	args = append([]string{r.options.Channel, leaseMark, agedMark, token}, args...)
	was, err := inTime(ctx, r, func(d *data) (int64, error) { return s.run(ctx, d, []string{key}, args...)[0].AsInt64() })
	return was == 1, failed("ending the lease of", key, err)
}
