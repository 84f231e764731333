package stats

import (
	"fmt"
	"time"
)

// whyMisses returns why a cache misses, if it misses much, or more than before. Otherwise
// the cause is "".
func whyMisses(l *look[Snapshot], now period) (cause, words string) {
	if now.Gets() < minGetsPerMinute {
		return "", ""
	}
	before := bestMinute(l)
	share := now.of(now.Misses)
	rose := before.Gets() > 0 && share > before.of(before.Misses)+rising
	reason := mainReason(now, before, rose)
	if !rose && reason.now < reason.much {
		return "", ""
	}
	cause, because := reason.explain(l, now, before, rose)
	if rose {
		return cause, fmt.Sprintf("Misses rose from %s to %s of the gets because %s.", percent(before.of(before.Misses)), percent(share), because)
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
		{now.of(now.MissesEvicted), before.of(before.MissesEvicted), 0.1, whyEvicted},
		{now.of(now.MissesExpired), before.of(before.MissesExpired), 0.1, whyExpired},
		{now.of(now.missesAbsent()), before.of(before.missesAbsent()), 0.3, whyAbsent},
	}
	weight := func(r reason) float64 {
		if rose {
			return r.now - r.before
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

func whyExpired(l *look[Snapshot], now, _ period, _ bool) (cause, because string) {
	because = "values expire before they are asked for again: " + part(now.MissesExpired, now.Misses) + " of the misses are of keys that expired recently"
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
	evidence := part(now.MissesEvicted, now.Misses) + " of the misses are of keys that were evicted recently"
	if rose {
		return moreKeys, "more keys are asked for than before, and do not fit: " + evidence
	}
	because = "the limit is too small: " + evidence
	s := underLimit(l, 5*time.Minute)
	if double, ok := s.WhatIfHitRatio(s.WhatIf.Double); ok {
		because += fmt.Sprintf(", and with double the limit %s of the gets would hit", percent(double))
	}
	return limitTooSmall, because
}

func whyAbsent(l *look[Snapshot], now, _ period, rose bool) (cause, because string) {
	if ago, n := cleared(l); n > 0 {
		return wasCleared, fmt.Sprintf("the cache was cleared %s ago: %d entries were removed", span(ago), n)
	}
	s := l.stats
	age := l.at.Sub(l.since)
	if full := s.Removals.Evicted > 0; !full && age < historyPoints*interval {
		return isNew, fmt.Sprintf("the cache is new and filling: it was made %s ago, and has %d entries", span(age), s.Entries)
	}
	evidence := part(now.missesAbsent(), now.Misses) + " of the misses are of keys that were not in the cache recently"
	if now.Removals.Evicted*2 > now.missesAbsent() || !rose {
		return onceOnly, fmt.Sprintf("many keys are asked for only once, as by a scan: %s, and %d entries were evicted in a minute", evidence, now.Removals.Evicted)
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
