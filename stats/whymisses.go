package stats

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

const (
	minGets = 100  // with fewer a ratio is noise
	rising  = 0.05 // of the gets, by which misses rise
	faster  = 0.25 // by which they must rise in number too: or hits have fallen
)

// The reasons of misses: what became of their keys.
const (
	evicted = iota
	expired
	absent
)

// much is the share of the gets from which a reason matters even without a rise.
var much = [...]float64{evicted: 0.1, expired: 0.2, absent: 0.3}

// missCauses are what whyMisses says.
var missCauses = []string{sources.IsNew, sources.WasCleared, sources.TTLTooShort, sources.LimitTooSmall, sources.LimitLowered, sources.MoreKeys, sources.OnceOnly, sources.UnknownKeys, sources.ChangedAtSource}

// shares returns the misses of each reason, as shares of the gets.
func (p *period) shares() [3]float64 {
	return [3]float64{ratio(p.MissesEvicted, p.Gets()), ratio(p.MissesExpired, p.Gets()), ratio(p.missesAbsent(), p.Gets())}
}

// A usual is what is normal for a cache: it follows what gets better soon, and what gets worse within
// an hour, but load times only while they are not slow.
type usual struct {
	load   float64    // nanoseconds; 0: not known
	gets   bool       // what follows is known
	misses float64    // per second
	shares [3]float64 // of the gets
	peak   float64    // greatest share of misses of the last minutes that a finding had
}

// learn adds the last minute to what is usual.
func (d *diagnosis) learn() {
	u, now := &d.usual, &d.minute
	u.peak *= 0.99
	follow := func(v *float64, to float64, known bool) {
		if !known {
			*v = to
		}
		*v += min((to-*v)/512, (to-*v)/16)
	}
	if ok := now.Loads.OK.data(); ok.Count() >= leastLoads && !d.said(sources.LoadsSlow, sources.LoadsHang, sources.LoadsTimeOut) {
		follow(&u.load, float64(ok.Mean()), u.load > 0)
	}
	if d.lately(troubles...) {
		u.peak = 1 // what has expired meanwhile is loaded again
		return
	}
	if now.Gets() < minGets {
		return
	}
	follow(&u.misses, now.missesPerSecond(), u.gets)
	for i, share := range now.shares() {
		follow(&u.shares[i], share, u.gets)
	}
	u.gets = true
}

func (p *period) missesPerSecond() float64 { return float64(p.Misses) / max(p.length.Seconds(), 1) }

// troubles explain misses.
var troubles = []string{sources.LoadsHang, sources.LoadsTimeOut, sources.LoadsFail, sources.OneKeyFails, sources.SourceSilent, sources.SourceSlow, sources.StoreFails, sources.Undecodable}

// whyMisses says why a cache misses, if it misses much, or more than usual.
func (d *diagnosis) whyMisses() {
	now := d.missing()
	if now.Gets() < minGets || d.lately(troubles...) || ratio(now.Misses, now.Gets()) < d.usual.peak/2 { // it ebbs: keys that were lost come back
		return
	}
	shares, more, u := now.shares(), now.shares(), &d.usual
	usually := u.shares[evicted] + u.shares[expired] + u.shares[absent]
	share := ratio(now.Misses, now.Gets())
	rose := u.gets && share > usually+d.bar(rising, missCauses...) && now.missesPerSecond() > u.misses*(1+d.bar(faster, missCauses...))
	if rose {
		for i := range more {
			more[i] -= u.shares[i]
		}
	}
	reason := slices.Index(more[:], slices.Max(more[:]))
	// When more keys are in use than fit, most are new at first. Keys of a scan do not come again.
	if more[evicted] > d.bar(more[absent], sources.MoreKeys, sources.LimitTooSmall)/2 && more[evicted] > more[expired] {
		reason = evicted
	}
	rose = rose && reason != expired // their rise begins when the cache is as old as its TTL
	if !rose && shares[reason] < d.bar(much[reason], missCauses...) {
		return
	}
	cause, because := d.explain(now, reason, rose)
	if cause != sources.IsNew {
		d.usual.peak = max(d.usual.peak, share)
	}
	if rose {
		d.say(warning, cause, "Misses rose from %s to %s of the gets, %.1f a second %v, because %s.", percent(usually), percent(share), now.missesPerSecond(), now, because)
	} else {
		d.say(advice, cause, "%s of the gets miss %v, mostly because %s.", percent(share), now, because)
	}
}

// missing returns the period by which to judge misses: the minute or, if they have clearly risen or fallen,
// the last ten seconds. Values that were stored together may expire together, so those do not count.
func (d *diagnosis) missing() *period {
	gone := func(s [3]float64) float64 { return s[evicted] + s[absent] }
	now, minute := gone(d.ten.shares()), gone(d.minute.shares())
	if d.ten.Gets() >= minGets && (now >= minute+0.2 || now < minute-0.2 || now < min(minute/2, minute-rising)) {
		return &d.ten
	}
	return &d.minute
}

// explain returns the cause of misses of a reason, and the evidence.
func (d *diagnosis) explain(now *period, reason int, rose bool) (cause, because string) {
	s, b, gone := d.stats, &d.bound, now.missesAbsent()
	evidence := fmt.Sprintf("%d of %d misses are of keys that were ", [...]uint64{now.MissesEvicted, now.MissesExpired, gone}[reason], now.Misses) +
		[...]string{"evicted recently", "there recently, and expired", "not in the cache recently"}[reason]
	if reason == expired {
		if life := cmp.Or(d.cache.Now().Idle, d.cache.Now().Expire); life > 0 {
			evidence += ", with a TTL or Idle of " + span(life)
		}
		return sources.TTLTooShort, "values expire before they are asked for again: " + evidence
	}
	age, more := d.at.Sub(d.since), float64(now.Loads.all().Count())
	if rose {
		more = float64(now.Misses) - d.usual.misses*now.length.Seconds()
	}
	ago, entries := d.cleared()
	switch {
	case b.from > 0 && (d.at.Sub(b.at) < time.Hour || d.goes(sources.LimitLowered)):
		return sources.LimitLowered, fmt.Sprintf("the limit was lowered from %d to %d, %s ago: %s", b.from, b.to, span(d.at.Sub(b.at)), evidence)
	case reason == evicted:
	case now.Near.ForgottenAll > 0 || min(now.Near.Changes, now.Removals.Deleted)*2 > gone:
		what := "that somebody writes keys"
		if now.Near.Fetches > now.Near.RemoteHits {
			what = "that keys leave the store: it is full, or somebody removes them"
		}
		return sources.ChangedAtSource, fmt.Sprintf("the source reports %s (%d keys, and %d times all): %s", what, now.Near.Changes, now.Near.ForgottenAll, evidence)
	case float64(now.operation.NotFound)*2 > more:
		return sources.UnknownKeys, fmt.Sprintf("keys are asked for that do not exist, as by bots: %d of %d loads found no value. Negative keeps that for a while; better refuse such keys", now.operation.NotFound, now.Loads.all().Count())
	case entries > 0:
		return sources.WasCleared, fmt.Sprintf("the cache was cleared %s ago: %d entries were removed", span(ago), entries)
	case s.Removals.Evicted == now.Removals.Evicted && age < historyPoints*interval && (age < time.Minute || now.Removals.Expired*2 < now.Misses):
		return sources.IsNew, fmt.Sprintf("the cache is new and filling: it was made %s ago, and has %d entries", span(age), s.Entries)
	}
	full := now.Removals.Evicted > 0
	double, known := now.WhatIfHitRatio(now.WhatIf.Double)
	once := reason == absent && (now.Removals.Evicted*2 > gone || !rose)
	or := [...]string{", or far more than fit", ", or there was a scan"}
	if known && full {
		or = [2]string{}
		once = (double-now.HitRatio())*4 < 1-now.HitRatio()
		evidence += fmt.Sprintf(", and with double the limit %s of the gets would hit", percent(double))
	}
	if rose && full && !known {
		evidence += " (WhatIf would tell which)"
	}
	switch {
	case once:
		return sources.OnceOnly, "many keys are asked for only once, as by a scan" + or[0] + ": " + evidence
	case rose && full:
		return sources.MoreKeys, "more keys are asked for than before, and do not fit" + or[1] + ": " + evidence
	case rose:
		return sources.MoreKeys, fmt.Sprintf("more keys are asked for than before: there are %d entries, and %s", s.Entries, evidence)
	}
	return sources.LimitTooSmall, "the limit is too small: " + evidence
}

// cleared returns how long ago a cache was last cleared, and how many entries it lost, as
// far as the history goes back.
func (d *diagnosis) cleared() (ago time.Duration, entries uint64) {
	next := d.stats.Removals.Cleared
	for _, s := range slices.Backward(d.samples) {
		if n := s.stats.Removals.Cleared; n < next {
			return d.at.Sub(s.at), next - n
		}
	}
	return 0, 0
}

// A bound is the limit of a cache, or its greatest weight, and how it was lowered.
type bound struct {
	now, from, to uint64 // from is 0 if it was not lowered, or is as high again
	at            time.Time
}

// see notes the limit of a look. Several steps within a minute, as Elastic takes, are one.
func (b *bound) see(l *look[Snapshot], goes bool) {
	before := b.now
	b.now = cmp.Or(uint64(l.stats.Limit), l.stats.MaxWeight)
	switch {
	case 0 < b.now && b.now < before:
		if b.from == 0 || l.at.Sub(b.at) > time.Minute {
			b.from = before
		}
		b.to, b.at = b.now, l.at
	case (b.now == 0 || b.now >= b.from) && !goes:
		b.from = 0
	}
}
