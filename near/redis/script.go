package redis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/rueidis"
)

// A script runs on the server of its one key, atomically. Its first lines name its arguments.
// Scripts that change a key publish it, if there is a channel.
type script struct{ text, sha string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) // the name that Redis has for it
	return script{text, hex.EncodeToString(sum[:])}
}

const (
	// setText stores a value for a number of milliseconds; 0 means for ever.
	setText = `
local function set(key, value, ms)
	if ms == '0' then redis.call('SET', key, value) else redis.call('SET', key, value, 'PX', ms) end
end
`
	// agedText finds the parts of a value with an aged: its due, ended, until and token, and
	// where the value itself begins. It finds none in other values. withAge is the reverse.
	agedText = `
local function withAge(mark, due, ended, till, token, value)
	return mark .. due .. ' ' .. ended .. ' ' .. till .. ' ' .. token .. '\n' .. value
end
local function aged(value, mark)
	if string.sub(value, 1, #mark) ~= mark then return end
	return string.match(value, '^(%d+) (%d+) (%d+) (%S+)\n()', #mark + 1)
end
`
	// holdsText says whether the lease with a token holds: in place of a value, or beside it.
	holdsText = agedText + `
local function holds(key, leaseMark, agedMark, token)
	local value = redis.call('GET', key)
	if not value then return false end
	local _, _, _, holder = aged(value, agedMark)
	return value == leaseMark .. token or holder == token
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
	leaseScript = newScript(agedText + `
local token, ms, mark, agedMark = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local value = redis.call('GET', KEYS[1])
if value then
	local left = redis.call('PTTL', KEYS[1])
	local due, ended, till, holder, from = aged(value, agedMark)
	if due and left > 0 and left <= tonumber(due) and (holder == '-' or left <= tonumber(till)) then
		till = string.format('%d', math.max(left - ms, 0))
		value = withAge(agedMark, due, ended, till, token, string.sub(value, from))
		redis.call('SET', KEYS[1], value, 'PX', left)
	end
	local endless = left == -1 and string.sub(value, 1, #mark) == mark -- somebody took its end away
	if not endless then return {value, left} end
end
redis.call('SET', KEYS[1], mark .. token, 'PX', ms)
return false
`)
	fillScript = newScript(setText + publishText + holdsText + `
local channel, leaseMark, agedMark, token, value, ms = unpack(ARGV)
if not holds(KEYS[1], leaseMark, agedMark, token) then return 0 end
set(KEYS[1], value, ms)
publish(channel, KEYS[1])
return 1
`)
	releaseScript = newScript(publishText + holdsText + `
local channel, leaseMark, agedMark, token, paused = unpack(ARGV)
if not holds(KEYS[1], leaseMark, agedMark, token) then return 0 end
local left, value = redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[1])
local due, ended, till, _, from = aged(value, agedMark)
if not due then
	redis.call('DEL', KEYS[1])
elseif left > 0 then
	redis.call('SET', KEYS[1], withAge(agedMark, due, ended, till, paused, string.sub(value, from)), 'PX', left)
end
publish(channel, KEYS[1])
return 1
`)
	setScript = newScript(setText + publishText + `
local channel, value, ms = ARGV[1], ARGV[2], ARGV[3]
set(KEYS[1], value, ms)
publish(channel, KEYS[1])
return 1
`)
	nextScript = newScript(`
local now = redis.call('TIME')
local number = (tonumber(redis.call('GET', KEYS[1]) or '') or 0) + 1
number = string.format('%d', math.max(number, now[1] * 1000000 + now[2]))
redis.call('SET', KEYS[1], number)
return number
`)
	addScript = newScript(setText + publishText + `
local channel, value, ms = ARGV[1], ARGV[2], ARGV[3]
local has = redis.call('GET', KEYS[1])
if has then return has end
set(KEYS[1], value, ms)
publish(channel, KEYS[1])
return value
`)
	dropScript = newScript(publishText + agedText + `
local channel, agedMark, groups = ARGV[1], ARGV[2], ARGV[3]
local value = redis.call('GET', KEYS[1])
if not value then return 0 end
local _, _, _, _, from = aged(value, agedMark)
from = from or 1
if string.sub(value, from, from + #groups - 1) ~= groups then return 0 end
redis.call('DEL', KEYS[1])
publish(channel, KEYS[1])
return 1
`)
	delScript = newScript(publishText + `
local channel = ARGV[1]
redis.call('DEL', KEYS[1])
publish(channel, KEYS[1])
return 1
`)
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
