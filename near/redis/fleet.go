package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
)

// The watches that share Options.Fleet make themselves known in one hash. It has, for each of them,
// for how long it serves what was vouched for, which is its MaxLag, and how many beats it has made; a count of marks; and an epoch, a name that no other
// hash has, and that changes with the process of the server: so nobody takes a hash that was lost, or
// that a failover has replaced, for the one that was there before.
//
// A watch is in the hash before it vouches for anything, and vouches for no moment after its last
// beat. So who sees no beat for MaxLag knows, by a clock of its own, that the watch vouches for
// nothing; nobody compares the clocks of two machines.
const (
	fleetPrefix = "pinwheel:fleet:"
	watchField  = "watch:" // begins the field of a watch
)

// fleetText has what the scripts of a fleet share. KEYS[1] is the hash.
const fleetText = `
local function state(fresh)
	local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
	if not run then return {'', '0'} end
	local had = redis.call('HGET', KEYS[1], 'epoch')
	if not had or string.sub(had, 1, #run) ~= run then
		had = run .. fresh
		redis.call('HSET', KEYS[1], 'epoch', had, 'marks', '0')
	end
	return {had, redis.call('HGET', KEYS[1], 'marks') or '0'}
end
`

var (
	// joinScript makes a watch known. beatScript does that only if it is known: else it returns
	// nothing.
	joinScript = newScript(fleetText + `
local fresh, field, beat = unpack(ARGV)
redis.call('HSET', KEYS[1], field, beat)
return state(fresh)
`)
	beatScript = newScript(fleetText + `
local fresh, field, beat = unpack(ARGV)
if redis.call('HEXISTS', KEYS[1], field) == 0 then return false end
redis.call('HSET', KEYS[1], field, beat)
return state(fresh)
`)
	// markScript counts a mark.
	markScript = newScript(fleetText + `
local had = state(ARGV[1])
if had[1] == '' then return had end
return {had[1], tostring(redis.call('HINCRBY', KEYS[1], 'marks', 1))}
`)
	// leaveScript removes a watch if its last beat is the one that was seen.
	leaveScript = newScript(`
local field, seen = unpack(ARGV)
if redis.call('HGET', KEYS[1], field) ~= seen then return 0 end
return redis.call('HDEL', KEYS[1], field)
`)
)

// errForgotten ends a session: the watch was removed from the hash, or all of it was.
var errForgotten = errors.New("near/redis: Redis does not know this instance of the fleet any more")

func (r *Redis) fleetKey() string { return fleetPrefix + r.options.Fleet }

// A watch is one call of Watch, as others of the fleet know it.
type watch struct {
	r      *Redis
	field  string
	maxLag time.Duration // three beats in each
	serves time.Duration // after a moment that was vouched for
	beats  uint64
	sweep  sweep
	heard  chan string // the revocations to be answered
}

// newWatch returns a watch that is not known yet, or nil if there is no fleet.
func (r *Redis) newWatch(w near.Watcher) *watch {
	if r.options.Fleet == "" {
		return nil
	}
	r.known.lag(near.ServesFor(w))
	return &watch{
		r: r, field: watchField + rand.Text(), maxLag: near.MaxLag(w), serves: near.ServesFor(w),
		heard: make(chan string, mostUnanswered),
	}
}

// beat runs joinScript or beatScript, and returns when it was sent.
func (w *watch) beat(ctx context.Context, s script) (sent time.Time, err error) {
	sent = time.Now()
	w.beats++
	ctx, cancel := context.WithTimeoutCause(ctx, w.maxLag, fmt.Errorf("near/redis: no answer of fleet %q for %v", w.r.options.Fleet, w.maxLag))
	defer cancel()
	now, err := w.r.fleetState(ctx, s, w.field, encodeBeat(w.serves, w.beats))
	if err == nil {
		w.r.known.heard(now, time.Now())
	}
	return sent, err
}

// keep makes beats, and vouches for the moments when they were sent.
func (w *watch) keep(ctx context.Context, vouch func(asOf time.Time)) error {
	for {
		sent, err := w.beat(ctx, beatScript)
		if err != nil {
			return err
		}
		vouch(sent)
		w.sweep.step(ctx, w.r)
		sleep(ctx, w.maxLag/3)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// leave makes the watch unknown. Whoever was told by it serves nothing any more.
func (w *watch) leave() {
	if w == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.maxLag)
	defer cancel()
	_ = w.r.removeWatch(ctx, w.field, encodeBeat(w.serves, w.beats)) // else a sweep will
}

// A fleetState is what the hash of a fleet says. The epoch is "" if the server does not say which
// process it is.
type fleetState struct {
	epoch string
	marks uint64
}

// fleetState runs a script that returns a fleetState.
func (r *Redis) fleetState(ctx context.Context, s script, args ...string) (fleetState, error) {
	args = append([]string{rand.Text()}, args...)
	pair, err := inTime(ctx, r, func(d *data) ([]string, error) {
		return s.runOnce(ctx, d, []string{r.fleetKey()}, args...).AsStrSlice()
	})
	switch {
	case rueidis.IsRedisNil(err):
		return fleetState{}, errForgotten
	case err == nil && len(pair) != 2:
		err = fmt.Errorf("%d values, want 2", len(pair))
	}
	if err != nil {
		return fleetState{}, failed("asking the fleet", r.options.Fleet, err)
	}
	marks, err := strconv.ParseUint(pair[1], 10, 64)
	return fleetState{pair[0], marks}, failed("asking the fleet", r.options.Fleet, err)
}

// fleetFields returns all that the hash has.
func (r *Redis) fleetFields(ctx context.Context) (map[string]string, error) {
	fields, err := inTime(ctx, r, func(d *data) (map[string]string, error) {
		return d.Do(ctx, d.B().Hgetall().Key(r.fleetKey()).Build()).AsStrMap()
	})
	for _, maxLag := range watchesOf(fields) {
		r.known.lag(maxLag)
	}
	return fields, failed("asking the fleet", r.options.Fleet, err)
}

// watchesOf returns the MaxLag of each watch in a hash.
func watchesOf(fields map[string]string) map[string]time.Duration {
	watches := make(map[string]time.Duration, len(fields))
	for field, beat := range fields {
		if maxLag, ok := maxLagOf(beat); ok && strings.HasPrefix(field, watchField) {
			watches[field] = maxLag
		}
	}
	return watches
}

func (r *Redis) removeWatch(ctx context.Context, field, seen string) error {
	_, err := inTime(ctx, r, func(d *data) (int64, error) {
		return leaveScript.runOnce(ctx, d, []string{r.fleetKey()}, field, seen).AsInt64()
	})
	return err
}

// encodeBeat returns what the hash has of a watch.
func encodeBeat(maxLag time.Duration, beats uint64) string {
	return strconv.FormatInt(maxLag.Microseconds(), 10) + " " + strconv.FormatUint(beats, 10)
}

// maxLagOf is the reverse, and false if a value is no beat.
func maxLagOf(beat string) (time.Duration, bool) {
	var micros int64
	var beats uint64
	if n, _ := fmt.Sscanf(beat, "%d %d", &micros, &beats); n != 2 || micros < 0 {
		return 0, false
	}
	return time.Duration(micros) * time.Microsecond, true
}

// enlist makes a watch known, for a session that is about to vouch, and returns what has to vouch
// beside the servers.
func (w *watch) enlist(ctx context.Context) ([]voucher, error) {
	if w == nil {
		return nil, nil
	}
	if _, err := w.beat(ctx, joinScript); err != nil {
		return nil, err
	}
	return []voucher{w.keep}, nil
}
