package relay

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// A listener is told of what changes in Redis, and tells of what has changed in the database. Its
// methods are called by one goroutine.
type listener struct {
	near.Watcher
	beatOf func(key string) (redis.Beat, bool) // which beat a key tells of
	give   func(v vouch)
	maxLag time.Duration

	asked time.Time // Redis has told of all its changes before it
	last  heard
	given vouch
}

// A heard is a beat, and what Redis had vouched for before it.
type heard struct {
	beat redis.Beat
	asOf time.Time
}

// MaxLag is half of that of the watcher. The other half is for the relay: a beat comes after the
// answer of Redis, and the next one after that of the database.
func (l *listener) MaxLag() time.Duration { return l.maxLag / 2 }

// ServesFor is found by near.ServesFor.
func (l *listener) ServesFor() time.Duration { return l.maxLag }

// Changed tells of keys, and hears beats.
func (l *listener) Changed(keys ...string) {
	told := 0
	for i, key := range keys {
		beat, ok := l.beatOf(key)
		if !ok {
			continue
		}
		l.tell(keys[told:i])
		told = i + 1
		l.hear(beat)
	}
	l.tell(keys[told:])
}

func (l *listener) tell(keys []string) {
	if len(keys) > 0 {
		l.Watcher.Changed(keys...)
	}
}

// Revoked needs no beat: the keys have been removed from Redis.
func (l *listener) Revoked(keys ...string) { near.Revoked(l.Watcher, keys...) }

// ChangedAll says that beats may have been missed.
func (l *listener) ChangedAll() {
	l.asked, l.last = time.Time{}, heard{}
	l.Watcher.ChangedAll()
}

// Current keeps the moment for which Redis vouches, until two beats have been heard.
func (l *listener) Current(asOf time.Time) { l.asked = asOf }

// Lost says that beats may be missed.
func (l *listener) Lost(err error) {
	l.asked, l.last = time.Time{}, heard{}
	l.Watcher.Lost(err)
}

// hear vouches for what Redis had vouched for before the beat before this one.
func (l *listener) hear(beat redis.Beat) {
	before := l.last
	l.last = heard{beat, l.asked}
	if before.asOf.IsZero() || before.beat.Relay != beat.Relay || before.beat.Number+1 != beat.Number {
		return
	}
	l.Watcher.Current(before.asOf)
	l.given = l.given.next(beat, before.asOf, l.maxLag, time.Now())
	l.give(l.given)
}

// A vouch says that a server which has a beat has no value that was replaced in the database before a
// moment.
type vouch struct {
	beat   redis.Beat
	asOf   time.Time
	since  time.Time // values in memory are served since then
	maxLag time.Duration
}

// next returns the vouch for a later moment, for which the watcher was told before now.
func (v vouch) next(beat redis.Beat, asOf time.Time, maxLag time.Duration, now time.Time) vouch {
	n := vouch{beat, asOf, v.since, maxLag}
	if !v.holds(now) {
		n.since = now
	}
	return n
}

// holds reports whether values as of that moment may be served.
func (v vouch) holds(now time.Time) bool { return !v.asOf.IsZero() && now.Sub(v.asOf) < v.maxLag }

// reached reports whether a server has the beat.
func (v vouch) reached(last redis.Beat) bool {
	return last.Relay == v.beat.Relay && last.Number >= v.beat.Number
}

// limit bounds the TTL of an item that was read. A load that began while nothing was served shares its result
// for MaxLag, as if that were of its beginning; but what it has read is as of the vouch.
func (v vouch) limit(item *near.Item, now time.Time) {
	left := v.asOf.Add(v.maxLag).Sub(now)
	if now.Sub(v.since) < v.maxLag && (item.State == near.Found || item.State == near.Absent) && (item.TTL == 0 || item.TTL > left) {
		item.TTL = left
	}
}

// believed reports whether all of some watchers are vouched for.
func believed(vouches []vouch, now time.Time) bool {
	for _, v := range vouches {
		if !v.holds(now) {
			return false
		}
	}
	return len(vouches) > 0
}
