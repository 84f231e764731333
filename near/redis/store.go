package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
)

// Get reads keys with GET and PTTL, in one round trip to each server.
func (r *Redis) Get(ctx context.Context, keys ...string) ([]near.Item, error) {
	c, err := r.clients.use()
	if err != nil {
		return nil, err
	}
	defer r.clients.done(c)
	commands := make(rueidis.Commands, 0, 2*len(keys))
	for _, key := range keys {
		commands = append(commands, c.B().Get().Key(key).Build(), c.B().Pttl().Key(key).Build())
	}
	replies := c.DoMulti(ctx, commands...)
	items := make([]near.Item, len(keys))
	for i, key := range keys {
		if items[i], err = readItem(replies[2*i], replies[2*i+1]); err != nil {
			return nil, failed("reading", key, err)
		}
	}
	return items, nil
}

// readItem returns the item of a GET and a PTTL.
func readItem(get, pttl rueidis.RedisResult) (near.Item, error) {
	data, err := get.AsBytes()
	if err != nil {
		return withoutValue(err, "")
	}
	left, err := pttl.AsInt64()
	return decode(data, left), err
}

// withoutValue returns the item for which a reply has an error, if it is one of the key: that it is
// missing, with a token if it was leased, or has another type.
func withoutValue(err error, token string) (near.Item, error) {
	switch {
	case rueidis.IsRedisNil(err):
		return near.Item{State: near.Missing, Token: token}, nil
	case ofOtherType(err):
		return near.Item{State: near.Broken}, nil
	}
	return near.Item{}, err
}

// Set stores an item. Its TTL is rounded down to milliseconds, and up to one.
func (r *Redis) Set(ctx context.Context, key string, item near.Item) error {
	c, err := r.clients.use()
	if err != nil {
		return err
	}
	defer r.clients.done(c)
	value, ms := encode(item), milliseconds(item.TTL)
	switch {
	case r.options.Channel != "":
		err = setScript.run(ctx, c, []string{key}, r.options.Channel, value, strconv.FormatInt(ms, 10))[0].Error()
	case ms == 0:
		err = c.Do(ctx, c.B().Set().Key(key).Value(value).Build()).Error()
	default:
		err = c.Do(ctx, c.B().Set().Key(key).Value(value).PxMilliseconds(ms).Build()).Error()
	}
	return failed("writing", key, err)
}

// Del removes keys, in one round trip to each server. After an error some may be gone and
// others not.
func (r *Redis) Del(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	c, err := r.clients.use()
	if err != nil {
		return err
	}
	defer r.clients.done(c)
	for i, reply := range r.del(ctx, c, keys) {
		if err := reply.Error(); err != nil {
			return failed("removing", keys[i], err)
		}
	}
	return nil
}

func (r *Redis) del(ctx context.Context, c *client, keys []string) []rueidis.RedisResult {
	if r.options.Channel != "" {
		return delScript.run(ctx, c, keys, r.options.Channel)
	}
	commands := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		commands[i] = c.B().Del().Key(key).Build()
	}
	return c.DoMulti(ctx, commands...)
}

// refusesWrites reports whether an error is that of a server that is full, has too few
// replicas, or cannot write its snapshot. Older servers put more before the error of a script.
func refusesWrites(text string) bool {
	return slices.ContainsFunc([]string{"OOM ", "NOREPLICAS ", "MISCONF "}, func(code string) bool {
		return strings.HasPrefix(text, code) || strings.Contains(text, "-"+code)
	})
}

// ofOtherType reports whether an error is that of a key which has no string, but a list or so.
func ofOtherType(err error) bool {
	of, ok := rueidis.IsRedisErr(err)
	return ok && strings.Contains(of.Error(), "WRONGTYPE ")
}

// shownKey is how many bytes of a key an error shows.
const shownKey = 64

func failed(doing, key string, err error) error {
	if err == nil {
		return nil
	}
	if len(key) > shownKey {
		key = key[:shownKey] + "..."
	}
	switch of, ok := rueidis.IsRedisErr(err); {
	case ok && refusesWrites(of.Error()):
		err = fmt.Errorf("%w: %w", near.ErrReadOnly, err)
	case ok && !passes(err): // the server is in order
		err = fmt.Errorf("%w: %w", near.ErrRefused, err)
	}
	return fmt.Errorf("near/redis: %s %q: %w", doing, key, err)
}
