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
)

// A revocation is told as the change of a key, whose name has all that the watches must know: who
// asks, and which keys. Each watch that has forgotten these keys answers, in a set of which the
// revocation is the name.
const (
	revokePrefix = "pinwheel:revoke:"
	heardPrefix  = "pinwheel:heard:"

	idLength       = 26      // of a rand.Text
	mostTold       = 1 << 20 // bytes of keys in one revocation; more are waited for
	mostUnanswered = 1000    // of one watch; who asks for more waits for its MaxLag
	answersLive    = 10 * time.Second

	firstLook = 500 * time.Microsecond // for answers
	lastLook  = 10 * time.Millisecond
)

// revocations returns the beginning of the keys by which revocations are told.
func revocations(fleet string) string { return revokePrefix + fleet + ":" }

// tellScript has all watches be told of a key.
var tellScript = newScript(publishText + `
redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])
publish(ARGV[1], KEYS[1])
return 1
`)

var errNoFleet = errors.New("near/redis: Options.Fleet is empty, so nobody knows which instances there are: want a name, such as \"shop\", the same in all instances")

// Revoke removes keys, and returns when no watch of the fleet serves what was there before: each has
// answered that it has forgotten them, or cannot have been vouched for since, as its MaxLag has
// passed after the removal. After an error the keys may be removed, and may still be served.
//
// It takes a round trip for the removal, one to list the fleet, one to tell it, and one for the
// answers. It also waits, for the longest MaxLag in the fleet, if the list may lack an instance: in
// the first two MaxLags after this process has connected, or after Redis has lost the list.
func (r *Redis) Revoke(ctx context.Context, keys ...string) (near.Revocation, error) {
	if r.options.Fleet == "" {
		return near.Revocation{}, errNoFleet
	}
	if len(keys) == 0 {
		return near.Revocation{}, nil
	}
	if err := r.Del(ctx, keys...); err != nil {
		return near.Revocation{}, err
	}
	// A watch that has not heard of the removal vouches for no moment after it, and so serves
	// for MaxLag at most from now on.
	removed := time.Now()
	// Whoever is not listed was not known when the removal had been made. Before it serves
	// anything it makes itself known, and forgets everything.
	fields, err := r.fleetFields(ctx)
	if err != nil {
		return near.Revocation{}, err
	}
	a := &asked{id: rand.Text(), by: removed, silent: watchesOf(fields)}
	a.said.Instances = len(a.silent)
	if most := r.known.longest(); !r.known.knew(fields["epoch"], removed.Add(-2*most)) {
		a.unlisted, a.said.Waited = most, true
	}
	if len(a.silent) > 0 {
		r.tell(ctx, a.id, keys)
	}
	err = r.await(ctx, a)
	return a.said, err
}

// asked is a revocation that waits for answers.
type asked struct {
	id       string
	by       time.Time                // since when everything is removed
	silent   map[string]time.Duration // who has not answered, and its MaxLag
	unlisted time.Duration            // the MaxLag of those who may be missing in the list
	said     near.Revocation
}

// tell tells all watches to forget keys. If it fails they do not answer.
func (r *Redis) tell(ctx context.Context, id string, keys []string) {
	key := revocations(r.options.Fleet) + id + ":" + joinKeys(keys)
	if len(key) > mostTold {
		return
	}
	_, _ = inTime(ctx, r, func(d *data) (struct{}, error) {
		return struct{}{}, tellScript.runOnce(ctx, d, []string{key}, r.options.Channel).Error()
	})
}

// await returns when all who were asked have answered, or vouch for nothing of before.
func (r *Redis) await(ctx context.Context, a *asked) error {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		if len(a.silent) > 0 {
			r.look(ctx, a)
		}
		left := a.left(time.Now())
		if left <= 0 {
			return nil
		}
		sleep(ctx, min(pause, left))
		if ctx.Err() != nil {
			return fmt.Errorf("near/redis: revoking: %d of %d instances may still serve what was removed: %w", len(a.silent), a.said.Instances, context.Cause(ctx))
		}
	}
}

// left gives up those who vouch for nothing any more, and returns how long the rest may.
func (a *asked) left(now time.Time) time.Duration {
	since := now.Sub(a.by)
	left := drifting(a.unlisted) - since
	for field, maxLag := range a.silent {
		if drifting(maxLag) <= since {
			delete(a.silent, field)
			a.said.Silent++
			a.said.Waited = true
			continue
		}
		left = max(left, drifting(maxLag)-since)
	}
	return left
}

// drifting returns how long to wait until a time has passed in another machine, whose clock may be
// slower: that of NTP by 500 in a million at most.
func drifting(d time.Duration) time.Duration { return d + d/500 }

// look reads the answers.
func (r *Redis) look(ctx context.Context, a *asked) {
	fields, err := inTime(ctx, r, func(d *data) ([]string, error) {
		return d.Do(ctx, d.B().Smembers().Key(r.answersKey(a.id)).Build()).AsStrSlice()
	})
	if err != nil {
		return // the next look may see more
	}
	for _, field := range fields {
		delete(a.silent, field)
	}
}

func (r *Redis) answersKey(id string) string { return heardPrefix + r.options.Fleet + ":" + id }

// hears returns a watcher that tells w what it is told, but for revocations, which it has answered
// once w has forgotten their keys.
func (w *watch) hears(told near.Watcher) near.Watcher {
	if w == nil {
		return told
	}
	return hearer{told, w}
}

type hearer struct {
	near.Watcher
	watch *watch
}

// MaxLag is found by near.MaxLag.
func (h hearer) MaxLag() time.Duration { return h.watch.maxLag }

// ServesFor is found by near.ServesFor.
func (h hearer) ServesFor() time.Duration { return h.watch.serves }

func (h hearer) Changed(keys ...string) {
	prefix := revocations(h.watch.r.options.Fleet)
	rest := make([]string, 0, len(keys))
	var revoked []string
	for _, key := range keys {
		if told, ok := strings.CutPrefix(key, prefix); ok {
			revoked = append(revoked, told)
		} else {
			rest = append(rest, key)
		}
	}
	if len(rest) > 0 {
		h.Watcher.Changed(rest...)
	}
	for _, told := range revoked {
		if id, keys, ok := parseRevocation(told); ok {
			near.Revoked(h.Watcher, keys...)
			select {
			case h.watch.heard <- id:
			default: // it is waited for
			}
		}
	}
}

// answer answers revocations until ctx ends.
func (w *watch) answer(ctx context.Context) {
	if w == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-w.heard:
			within, cancel := context.WithTimeout(ctx, w.maxLag) // later nobody waits
			_, _ = inTime(within, w.r, func(d *data) (struct{}, error) {
				key := w.r.answersKey(id)
				d.DoMulti(within, d.B().Sadd().Key(key).Member(w.field).Build(),
					d.B().Pexpire().Key(key).Milliseconds(answersLive.Milliseconds()).Build())
				return struct{}{}, nil
			})
			cancel()
		}
	}
}

// joinKeys returns keys as one string, each after its length.
func joinKeys(keys []string) string {
	var all strings.Builder
	for _, key := range keys {
		all.WriteString(strconv.Itoa(len(key)) + ":" + key)
	}
	return all.String()
}

// parseRevocation returns the id and the keys of a revocation.
func parseRevocation(told string) (id string, keys []string, ok bool) {
	if len(told) <= idLength || told[idLength] != ':' {
		return "", nil, false
	}
	id, told = told[:idLength], told[idLength+1:]
	for told != "" {
		length, rest, _ := strings.Cut(told, ":")
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(rest) {
			return "", nil, false
		}
		keys, told = append(keys, rest[:n]), rest[n:]
	}
	return id, keys, true
}
