package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
)

// Next counts by the clock of the server, in microseconds, or by ones while that stands still or has
// gone back. So its numbers go on if the key is lost, also after a failover, unless the clock of
// the new master is then behind the last number.
func (r *Redis) Next(ctx context.Context, key string) (int64, error) {
	text, err := inTime(ctx, r, func(d *data) (string, error) {
		return nextScript.run(ctx, d, []string{key})[0].ToString()
	})
	if err != nil {
		return 0, failed("counting at", key, err)
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		err = fmt.Errorf("the number is %q: %w", text, err)
	}
	return number, failed("counting at", key, err)
}

// Add stores an item if the key is missing, and returns what the key has then.
func (r *Redis) Add(ctx context.Context, key string, item near.Item) (near.Item, error) {
	ms := life(item)
	has, err := inTime(ctx, r, func(d *data) ([]byte, error) {
		return addScript.run(ctx, d, []string{key}, r.options.Channel, encode(item), strconv.FormatInt(ms, 10))[0].AsBytes()
	})
	if err != nil {
		return near.Item{}, failed("adding", key, err)
	}
	return decode(has, -1), nil
}

// Drop removes an item with these groups.
func (r *Redis) Drop(ctx context.Context, key string, groups []near.Membership) error {
	reply, err := inTime(ctx, r, func(d *data) (rueidis.RedisResult, error) {
		return dropScript.run(ctx, d, []string{key}, r.options.Channel, agedMark, groupedMark+groupsText(groups)+"\n")[0], nil
	})
	if err == nil {
		err = reply.Error()
	}
	return failed("removing", key, err)
}
