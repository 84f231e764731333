package redis

import (
	"context"

	"github.com/redis/rueidis"
)

// A script runs on the server of its one key, atomically. Its first lines name its arguments.
// Scripts that change a key publish it, if there is a channel. sha is the SHA-1 of its text, the
// name that Redis has for it: not computed here, as GODEBUG=fips140=only forbids SHA-1.
type script struct{ text, sha string }

const (
	// setText stores a value for a number of milliseconds; 0 means for ever.
	setText = `
local function set(key, value, ms)
	if ms == '0' then redis.call('SET', key, value) else redis.call('SET', key, value, 'PX', ms) end
end
`
	// publishText tells a channel that a key has changed.
	publishText = `
local function publish(channel, key)
	if channel ~= '' then redis.call('PUBLISH', channel, key) end
end
`
)

var (
	leaseScript = script{`
local lease, ms, mark = ARGV[1], ARGV[2], ARGV[3]
local value = redis.call('GET', KEYS[1])
if value then
	local left = redis.call('PTTL', KEYS[1])
	if left ~= -1 or value:sub(1, #mark) ~= mark then return {value, left} end
end
redis.call('SET', KEYS[1], lease, 'PX', ms)
return false
`, "e6ff58d9f67bcb1d991199740cbf2171fc0e5078"}
	fillScript = script{setText + publishText + `
local channel, lease, value, ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('GET', KEYS[1]) ~= lease then return 0 end
set(KEYS[1], value, ms)
publish(channel, KEYS[1])
return 1
`, "62f6c170f754342bb37d6fcc7a29b38d83ea71a3"}
	releaseScript = script{publishText + `
local channel, lease = ARGV[1], ARGV[2]
if redis.call('GET', KEYS[1]) ~= lease then return 0 end
redis.call('DEL', KEYS[1])
publish(channel, KEYS[1])
return 1
`, "6c3f56be4d6e702f1d7e790a9db39b35ab23a9ab"}
	setScript = script{setText + publishText + `
local channel, value, ms = ARGV[1], ARGV[2], ARGV[3]
set(KEYS[1], value, ms)
publish(channel, KEYS[1])
return 1
`, "081d900079d7051a5413bb9bde7e4e6dbf86a197"}
	delScript = script{publishText + `
local channel = ARGV[1]
local removed = redis.call('DEL', KEYS[1])
publish(channel, KEYS[1])
return removed
`, "6d460600cb9931833d9c56becad10d402878f1ae"}
)

// run runs a script once for each key, in one round trip to each server, or two if a server
// does not have the script yet.
func (s script) run(ctx context.Context, c rueidis.Client, keys []string, args ...string) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		commands[i] = c.B().Evalsha().Sha1(s.sha).Numkeys(1).Key(key).Arg(args...).Build()
	}
	replies := c.DoMulti(ctx, commands...)
	var unknown []int
	for i, reply := range replies {
		if err, ok := rueidis.IsRedisErr(reply.Error()); ok && err.IsNoScript() {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return replies
	}
	commands = commands[:0]
	for _, i := range unknown {
		commands = append(commands, c.B().Eval().Script(s.text).Numkeys(1).Key(keys[i]).Arg(args...).Build())
	}
	for j, reply := range c.DoMulti(ctx, commands...) {
		replies[unknown[j]] = reply
	}
	return replies
}
