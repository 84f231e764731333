package redis

import (
	"cmp"
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
	c, err := r.clients.use()
	if err != nil {
		return nil, err
	}
	defer r.clients.done(c)
	token := rand.Text() // one for all keys: key and token together identify a lease
	replies := leaseScript.run(ctx, c, keys, leaseMark+token, strconv.FormatInt(milliseconds(life), 10), leaseMark)
	items := make([]near.Item, len(keys))
	for i, key := range keys {
		if items[i], err = readLease(replies[i], token); err != nil {
			r.releaseLater(taken(keys, replies), token)
			return nil, failed("reading", key, err)
		}
	}
	return items, nil
}

// taken returns the keys on which a call may have taken leases: those without an answer, and those
// whose answer is nil.
func taken(keys []string, replies []rueidis.RedisResult) (maybe []string) {
	for i, reply := range replies {
		err := reply.Error()
		if _, said := rueidis.IsRedisErr(err); err != nil && !said {
			maybe = append(maybe, keys[i])
		}
	}
	return maybe
}

// releaseLater releases leases of a call that has failed: the server may have given them, or may
// yet do so. Otherwise others would wait for somebody who does not load. It asks until three
// answers have come: the server may still run commands of a connection that has broken since.
// Leases end by themselves if this has not succeeded after ten seconds, or if too many calls do it
// already.
func (r *Redis) releaseLater(keys []string, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(keys) == 0 || r.open.Err() != nil || r.releases == maxReleases {
		return
	}
	r.releases++
	r.releasing.Go(func() {
		ctx, cancel := context.WithTimeout(r.open, 10*time.Second)
		defer cancel()
		for answers, pause := 0, firstPause; answers < 3 && ctx.Err() == nil; pause = min(10*pause, lastPause) {
			sleep(ctx, pause)
			if r.releaseAll(ctx, keys, token) == nil {
				answers++
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.releases--
	})
}

// maxReleases bounds how many calls release leases in the background.
const maxReleases = 64

func (r *Redis) releaseAll(ctx context.Context, keys []string, token string) error {
	c, err := r.clients.use()
	if err != nil {
		return err
	}
	defer r.clients.done(c)
	ctx, cancel := context.WithTimeout(ctx, r.options.Client.ConnWriteTimeout)
	defer cancel()
	for _, reply := range releaseScript.run(ctx, c, keys, r.options.Channel, leaseMark+token) {
		if err := reply.Error(); err != nil && !ofOtherType(err) {
			return err
		}
	}
	return nil
}

// readLease returns the item of a reply of leaseScript, which is nil if it took the lease.
func readLease(reply rueidis.RedisResult, token string) (near.Item, error) {
	pair, err := reply.ToArray()
	if err != nil {
		return withoutValue(err, token)
	}
	if len(pair) != 2 {
		return near.Item{}, fmt.Errorf("%d values, want 2", len(pair))
	}
	data, err := pair[0].AsBytes()
	left, err2 := pair[1].AsInt64()
	return decode(data, left), cmp.Or(err, err2)
}

// Fill stores an item in the place of a lease.
func (r *Redis) Fill(ctx context.Context, key, token string, item near.Item) (bool, error) {
	return r.endLease(ctx, fillScript, key, token, encode(item), strconv.FormatInt(milliseconds(item.TTL), 10))
}

// Release removes a lease. If it fails, it goes on in the background, for ten seconds at most.
func (r *Redis) Release(ctx context.Context, key, token string) error {
	_, err := r.endLease(ctx, releaseScript, key, token)
	if _, said := rueidis.IsRedisErr(err); err != nil && !said {
		r.releaseLater([]string{key}, token)
	}
	return err
}

// endLease reports whether the lease was there.
func (r *Redis) endLease(ctx context.Context, s script, key, token string, args ...string) (bool, error) {
	c, err := r.clients.use()
	if err != nil {
		return false, err
	}
	defer r.clients.done(c)
	args = append([]string{r.options.Channel, leaseMark + token}, args...)
	was, err := s.run(ctx, c, []string{key}, args...)[0].AsInt64()
	if ofOtherType(err) { // so it is no lease
		return false, nil
	}
	return was == 1, failed("ending the lease of", key, err)
}
