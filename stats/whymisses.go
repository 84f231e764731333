package stats

import (
	"fmt"
	"time"
)

// steadyWhyMisses is whyMisses with hysteresis: a cause is said at once, goes when it was
// found at less than two of the last four looks, and gives way to one that was found more
// often there.
func steadyWhyMisses(l *look[Snapshot], now period) (cause, words string) {
	cause, words = whyMisses(l, now)
	found := map[string]int{"": 1, cause: 1}
	for _, before := range earlier(l, 3) {
		c, w := whyMisses(before, lastMinute(before))
		if c == "" {
			continue
		}
		found[c]++
		if found[c] > found[cause] {
			cause, words = c, w
		}
	}
	return cause, words
}

// earlier returns the looks at the last n samples, the newest first.
func earlier(l *look[Snapshot], n int) (looks []*look[Snapshot]) {
	for i := len(l.samples) - 1; i > 0 && len(looks) < n; i-- {
		s := &l.samples[i]
		looks = append(looks, &look[Snapshot]{l.registration, s.at, &s.stats, l.samples[:i]})
	}
	return looks
}

// whyMisses returns why a cache misses, if it misses much, or more than before. Otherwise
// the cause is "".
func whyMisses(l *look[Snapshot], now period) (cause, words string) {
	if now.gets < enough {
		return "", ""
	}
	before := bestMinute(l)
	share := now.of(now.misses)
	rose := before.gets > 0 && share > before.of(before.misses)+rising
	reason := mainReason(now, before, rose)
	if !rose && reason.now < reason.much {
		return "", ""
	}
	cause, because := changedBy(l, now)
	if cause == "" {
		cause, because = reason.explain(l, now, before, rose)
	}
	if rose {
		return cause, fmt.Sprintf("Misses rose from %s to %s of the gets because %s.", percent(before.of(before.misses)), percent(share), because)
	}
	return cause, fmt.Sprintf("%s of the gets miss, mostly because %s.", percent(share), because)
}

// A reason is a kind of misses: what became of their keys.
type reason struct {
	now, before float64 // shares of the gets
	much        float64 // the share from which it matters even without a rise
	explain     func(l *look[Snapshot], now, before period, rose bool) (cause, because string)
}

// mainReason returns the reason for most misses or, if they rose, for most of the rise.
func mainReason(now, before period, rose bool) reason {
	reasons := [...]reason{
		{now.of(now.evicted), before.of(before.evicted), 0.1, whyEvicted},
		{now.of(now.expired), before.of(before.expired), 0.1, whyExpired},
		{now.of(now.absent), before.of(before.absent), 0.3, whyAbsent},
	}
	weight := func(r reason) float64 {
		switch {
		case rose:
			return r.now - r.before
		case r.now < r.much:
			return 0 // another one may matter, though it is the less frequent
		}
		return r.now
	}
	best := reasons[0]
	for _, r := range reasons[1:] {
		if weight(r) > weight(best) {
			best = r
		}
	}
	// When more keys are in use than fit, most are new at first. Keys of a scan do not come again.
	if evicted := reasons[0]; rose && weight(evicted) > weight(reasons[2])/2 && weight(evicted) > weight(reasons[1]) {
		best = evicted
	}
	return best
}

// changedBy returns what somebody has done to the cache that explains its misses, if anything:
// lowered the limit, or changed the keys at the source of a near cache.
func changedBy(l *look[Snapshot], now period) (cause, because string) {
	if ago, from, to := lowered(l); to != "" && now.absent+now.evicted > now.misses/2 {
		return limitLowered, fmt.Sprintf("the limit was lowered from %s to %s %s ago", from, to, span(ago))
	}
	if !l.stats.Near.exists() {
		return "", ""
	}
	if ago, ok := forgotten(l); ok && ago < 2*time.Minute {
		return changedKeys, fmt.Sprintf("the source of changes was lost %s ago, and everything in memory was forgotten", span(ago))
	}
	if now.changes*2 > now.absent && now.absent*2 > now.misses {
		return changedKeys, fmt.Sprintf("keys change at the source: it told of %d changes in the last minute, or the store evicted or expired these keys", now.changes)
	}
	return "", ""
}

// lowered returns how long ago a limit was lowered, from what to what, as far as the history
// goes back.
func lowered(l *look[Snapshot]) (ago time.Duration, from, to string) {
	next := l.stats
	for i := len(l.samples) - 1; i >= 0; i-- {
		s := &l.samples[i].stats
		switch {
		case next.Limit < s.Limit && next.Limit > 0:
			return l.at.Sub(l.samples[i].at), fmt.Sprintf("%d entries", s.Limit), fmt.Sprintf("%d", next.Limit)
		case next.MaxWeight < s.MaxWeight && next.MaxWeight > 0:
			return l.at.Sub(l.samples[i].at), fmt.Sprintf("a weight of %d", s.MaxWeight), fmt.Sprintf("%d", next.MaxWeight)
		}
		next = s
	}
	return 0, "", ""
}

// forgotten returns how long ago a near cache last forgot everything, as far as the history
// goes back.
func forgotten(l *look[Snapshot]) (ago time.Duration, ok bool) {
	next := l.stats.Near.ForgottenAll
	for i := len(l.samples) - 1; i >= 0; i-- {
		n := l.samples[i].stats.Near.ForgottenAll
		if n < next {
			return l.at.Sub(l.samples[i].at), true
		}
	}
	return 0, false
}

func whyExpired(l *look[Snapshot], now, _ period, _ bool) (cause, because string) {
	because = "values expire before they are asked for again: " + part(now.expired, now.misses) + " of the misses are of keys that expired recently"
	if ttl := l.settings(); ttl != "" {
		because += ", with " + ttl
	}
	return ttlTooShort, because
}

// settings returns the times after which values expire, as text.
func (l *look[S]) settings() string {
	switch s := l.cache.Settings; {
	case s.Idle > 0:
		return "Idle of " + span(s.Idle)
	case s.Expire > 0:
		return "a TTL of " + span(s.Expire)
	}
	return ""
}

func whyEvicted(l *look[Snapshot], now, before period, rose bool) (cause, because string) {
	evidence := part(now.evicted, now.misses) + " of the misses are of keys that were evicted recently"
	if rose {
		return moreKeys, "more keys are asked for than before, and do not fit: " + evidence
	}
	because = "the limit is too small: " + evidence
	if double, ok := underLimit(l, 5*time.Minute).WhatIfDouble(); ok {
		because += fmt.Sprintf(", and double the limit would hit %s", percent(double))
	}
	return limitTooSmall, because
}

func whyAbsent(l *look[Snapshot], now, _ period, rose bool) (cause, because string) {
	if ago, n := cleared(l); n > 0 {
		return wasCleared, fmt.Sprintf("the cache was cleared %s ago: %d entries were removed", span(ago), n)
	}
	s := l.stats
	age := l.at.Sub(l.since)
	if full := s.Removals.Evicted > 0; !full && age < kept*interval {
		return isNew, fmt.Sprintf("the cache is new and filling: it was made %s ago, and has %d entries", span(age), s.Entries)
	}
	if now.negative*2 > now.absent {
		return unknownKeys, fmt.Sprintf("keys are asked for that do not exist: %s of the loads in the last minute ended in an error which Negative keeps", part(now.negative, now.loads))
	}
	evidence := part(now.absent, now.misses) + " of the misses are of keys that were not here recently"
	if now.evictions*2 > now.absent || !rose {
		if recent := underLimit(l, 5*time.Minute); recent.WhatIf.Gets > 0 {
			double, _ := recent.WhatIfDouble()
			if same := recent.HitRatio(); double > same+worth {
				return limitTooSmall, fmt.Sprintf("the limit is too small: it hits %s, and double the limit would hit %s", percent(same), percent(double))
			}
		} else if l.stats.Limit > 0 || l.stats.MaxWeight > 0 {
			return onceOnly, fmt.Sprintf("many keys are asked for only once, as by a scan, or come back after they were evicted, as the limit is far too small (WhatIf tells which): %s, and %d entries were evicted for them in a minute", evidence, now.evictions)
		}
		return onceOnly, fmt.Sprintf("many keys are asked for only once, as by a scan: %s, and %d entries were evicted for them in a minute", evidence, now.evictions)
	}
	return moreKeys, fmt.Sprintf("more keys are asked for than before: %s, and there are %d entries", evidence, s.Entries)
}

// cleared returns how long ago a cache was last cleared, and how many entries it lost, as
// far as the history goes back.
func cleared(l *look[Snapshot]) (ago time.Duration, entries uint64) {
	next := l.stats.Removals.Cleared
	for i := len(l.samples) - 1; i >= 0; i-- {
		n := l.samples[i].stats.Removals.Cleared
		if n < next {
			return l.at.Sub(l.samples[i].at), next - n
		}
	}
	return 0, 0
}
