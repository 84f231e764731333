package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// listKeys is the beginning of the keys of lists. They are not among those of a cache.
const listKeys = "near:list:"

// A list is a hash: of each member when its time is over, and of "" when the list has begun, in milliseconds by the
// clock of the server, which now returns.
const nowText = `
local function now()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end
`

var (
	enrollScript = script{nowText + `
local member, life = ARGV[1], tonumber(ARGV[2])
local now, fields, anew, future = now(), redis.call('HGETALL', KEYS[1]), true, false -- if the clock was set
for i = 1, #fields, 2 do
	local at = tonumber(fields[i + 1])
	if fields[i] == '' then
		future = at > now
	elseif at > now then
		anew = false
	else
		redis.call('HDEL', KEYS[1], fields[i])
	end
end
if anew or future then redis.call('HSET', KEYS[1], '', now) end
redis.call('HSET', KEYS[1], member, now + life)
if redis.call('PTTL', KEYS[1]) < life then redis.call('EXPIRE', KEYS[1], math.ceil(life / 1000)) end
return 1
`, "aaf78d324e1016937394afb45ba4d524a8d9cbcc"}
	membersScript = script{nowText + `
local now, fields = now(), redis.call('HGETALL', KEYS[1])
local list, began = {0}, now
for i = 1, #fields, 2 do
	if fields[i] == '' then
		began = tonumber(fields[i + 1])
	elseif tonumber(fields[i + 1]) > now then
		list[#list + 1] = fields[i]
	end
end
if #list > 1 then list[1] = now - began end
return list
`, "8e37022db03b61958c62547e697382e8582ff3ab"}
	withdrawScript = script{`
local member = ARGV[1]
redis.call('HDEL', KEYS[1], member)
return 1
`, "8d8de004e95917a5cdf73b1968691ac654372e06"}
)

// Enroll has a member on a list until life from now on.
func (r *Redis) Enroll(ctx context.Context, list, member string, life time.Duration) error {
	return r.changeList(ctx, enrollScript, list, member, strconv.FormatInt(milliseconds(life), 10))
}

// Withdraw takes a member off a list.
func (r *Redis) Withdraw(ctx context.Context, list, member string) error {
	return r.changeList(ctx, withdrawScript, list, member)
}

func (r *Redis) changeList(ctx context.Context, s script, list string, args ...string) error {
	c, err := r.clients.use()
	if err != nil {
		return err
	}
	defer r.clients.done(c)
	return failed("changing the list", list, s.run(ctx, c, []string{listKeys + list}, args...)[0].Error())
}

// Members returns who is on a list, and for how long somebody always was.
func (r *Redis) Members(ctx context.Context, list string) (members []string, age time.Duration, err error) {
	c, err := r.clients.use()
	if err != nil {
		return nil, 0, err
	}
	defer r.clients.done(c)
	reply, err := membersScript.run(ctx, c, []string{listKeys + list})[0].ToArray()
	if err != nil {
		return nil, 0, failed("reading the list", list, err)
	}
	for i := range reply {
		if i == 0 {
			ms, err := reply[0].AsInt64()
			if err != nil {
				return nil, 0, failed("reading the list", list, err)
			}
			age = time.Duration(ms) * time.Millisecond
			continue
		}
		member, err := reply[i].ToString()
		if err != nil {
			return nil, 0, fmt.Errorf("near/redis: list %q: %w", list, err)
		}
		members = append(members, member)
	}
	return members, age, nil
}
