package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"
)

// ErrChainBroken means that Redis lacks a step of a relay, or has those of another one. What this one has
// removed may be back, so a new one has to begin, and to remove everything.
var ErrChainBroken = errors.New("near/redis: the chain of removals is broken")

// Steps are those of one relay. After an error other than ErrChainBroken a step may have been made or not,
// and is to be repeated. One method may be called at a time.
type Steps struct {
	c     *Chain
	relay string

	mu   sync.Mutex // guards what follows: a call that was given up may still end
	beat uint64     // the last one
	step uint64     // the last one that was tried
	sure uint64     // the last one that was acknowledged
}

// mostKeys is how many keys one step removes at most: Redis does nothing else meanwhile.
const mostKeys = 500

// stepScript makes a step after all that were acknowledged, and before those that were tried later. A
// beat stores its key for a moment, so that it is told.
var stepScript = newScript(publishText + `
local channel, relay, sure, beat, step, isBeat = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6] == '1'
local had, _, last = string.match(redis.call('GET', KEYS[1]) or '', '^(%S+) (%d+) (%d+)$')
if had ~= relay or tonumber(last) < sure or tonumber(last) >= tonumber(step) then return 0 end
for i = 2, #KEYS do
	if isBeat then redis.call('SET', KEYS[i], '') end
	redis.call('DEL', KEYS[i])
	publish(channel, KEYS[i])
end
redis.call('SET', KEYS[1], relay .. ' ' .. beat .. ' ' .. step)
return 1
`)

// Begin begins a chain, and ends that of any other relay. It has to remove everything first: what changed
// while no relay ran may still be there.
func (c *Chain) Begin(ctx context.Context) (*Steps, error) {
	s := &Steps{c: c, relay: rand.Text()}
	_, err := inTime(ctx, c.r, func(d *data) (struct{}, error) {
		if d.cluster {
			return struct{}{}, errChainInCluster
		}
		return struct{}{}, d.Do(ctx, d.B().Set().Key(c.key).Value(s.relay+" 0 0").Build()).Error()
	})
	if err != nil {
		return nil, failed("beginning the chain", c.key, err)
	}
	return s, nil
}

// Del removes keys.
func (s *Steps) Del(ctx context.Context, keys ...string) error {
	for len(keys) > 0 {
		n := min(len(keys), mostKeys)
		_, err := inTime(ctx, s.c.r, func(d *data) (struct{}, error) { return struct{}{}, s.make(ctx, d, keys[:n]...) })
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// DelAll removes all keys with a prefix of the options.
func (s *Steps) DelAll(ctx context.Context) error {
	_, err := inTime(ctx, s.c.r, func(d *data) (struct{}, error) {
		for _, prefix := range s.c.r.options.Prefixes {
			if prefix == s.c.beats {
				continue
			}
			if err := s.delPrefix(ctx, d, prefix); err != nil {
				return struct{}{}, err
			}
		}
		// By the connections that scanned: a server that has this step has what the scan saw.
		return struct{}{}, s.make(ctx, d)
	})
	return err
}

// delPrefix removes all keys with a prefix.
func (s *Steps) delPrefix(ctx context.Context, d *data, prefix string) error {
	for cursor := uint64(0); ; {
		page, err := d.Do(ctx, d.B().Scan().Cursor(cursor).Match(globEscaper.Replace(prefix)+"*").Count(mostKeys).Build()).AsScanEntry()
		if err != nil {
			return failed("listing", prefix, err)
		}
		keys := page.Elements[:0]
		for _, key := range page.Elements {
			if key != s.c.key {
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			if err := s.make(ctx, d, keys...); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

// globEscaper escapes what has a meaning in a pattern of Redis.
var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// Beat tells all watchers that the steps before it have been made.
func (s *Steps) Beat(ctx context.Context) error {
	_, err := inTime(ctx, s.c.r, func(d *data) (struct{}, error) {
		s.mu.Lock()
		beat := s.beat + 1
		s.mu.Unlock()
		err := s.run(ctx, d, beat, true, s.c.beats+s.relay+":"+number(beat))
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.beat = max(s.beat, beat)
		}
		return struct{}{}, err
	})
	return err
}

// make makes a step that removes keys.
func (s *Steps) make(ctx context.Context, d *data, keys ...string) error {
	s.mu.Lock()
	beat := s.beat
	s.mu.Unlock()
	return s.run(ctx, d, beat, false, keys...)
}

// run runs the script of a step.
func (s *Steps) run(ctx context.Context, d *data, beat uint64, isBeat bool, keys ...string) error {
	if d.cluster {
		return errChainInCluster
	}
	s.mu.Lock()
	s.step++
	step, sure := s.step, s.sure
	s.mu.Unlock()
	flag := "0"
	if isBeat {
		flag = "1"
	}
	keys = append([]string{s.c.key}, keys...)
	made, err := stepScript.runOnce(ctx, d, keys, s.c.r.options.Channel, s.relay, number(sure), number(beat), number(step), flag).AsInt64()
	switch {
	case err != nil:
		return failed("removing by a chain,", s.c.key, err)
	case made == 0:
		return fmt.Errorf("%w: step %d of relay %s", ErrChainBroken, step, s.relay)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sure = max(s.sure, step)
	return nil
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// runOnce runs a script once, for several keys of one server.
func (s script) runOnce(ctx context.Context, c rueidis.Client, keys []string, args ...string) rueidis.RedisResult {
	reply := c.Do(ctx, c.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	if err, ok := rueidis.IsRedisErr(reply.Error()); ok && err.IsNoScript() {
		return c.Do(ctx, c.B().Eval().Script(s.text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	}
	return reply
}
