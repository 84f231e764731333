package stats

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// Near has the counts of a near cache that other caches lack. Its entries are copies of values
// in a store that all instances of a service share; a source reports changes of these values. In
// the [Snapshot] of any other cache Near is zero.
type Near struct {
	RemoteHits uint64 // answers of the store: a value, or "not found"
	Fetches    uint64 // keys fetched because the store did not have them
	Bypasses   uint64 // fetches while the store could not be asked
	Waits      uint64 // loads that waited for another load, mostly of another instance
	Overtaken  uint64 // fetched values that are not stored, as the key changed meanwhile
	Unserved   uint64 // keys loaded while the source had confirmed nothing within MaxLag
	ServedOn   uint64 // loads that ended with an older value, as the store could not be asked

	StoreErrors  uint64 // calls of the store that failed
	Undecodable  uint64 // values of the store that could not be decoded
	Unasked      uint64 // reads that were not tried, as the last calls of the store had failed
	Changes      uint64 // changes of keys that the source reported
	ForgottenAll uint64 // reports of the source that any key may have changed
	Reconnects   uint64 // how often the source lost its connection

	Serving bool          // gauge: values are kept for as long as the source reports no change
	Partial bool          // gauge: the source reports some changes late or not at all
	Lag     time.Duration // gauge: time since the last confirmed moment, or since the cache was made
	Behind  time.Duration // gauge: how old the last confirmed moment was when the source confirmed it
	MaxLag  time.Duration // gauge: with a longer Lag values stay for that long only; never 0 in a near cache

	Audits Audits // zero without the option Audit
}

// Audits counts the values in memory that were compared with the store, or with the database (option AuditBy of package
// near).
type Audits struct {
	OneIn      int    // gauge: the option, one hit in so many is drawn
	Same       uint64 // values that were the same
	Changed    uint64 // others, that memory has lost in time
	Violations uint64 // others, that it served for too long
	Unknown    uint64 // comparisons that failed, or came too early or late
}

// exists reports whether the cache is a near cache.
func (n *Near) exists() bool { return n.MaxLag > 0 }

// near looks whether the source of changes is silent or late, and whether the store fails.
func (d *diagnosis) near() {
	n, now, minute := &d.stats.Near, &d.ten.Near, &d.minute.Near
	if n.exists() && !n.Serving && n.Lag > n.MaxLag {
		d.say(warning, sources.SourceSilent, "Values stay in memory for %s only: for %s the source of changes has not confirmed that memory is up to date.", span(n.MaxLag), span(n.Lag))
	}
	if n.Partial {
		d.say(advice, sources.SourcePartial, "The source reports some changes late or not at all; its documentation and the log say which. A short LocalExpire bounds what follows.")
	}
	if v := d.violation(); d.minute.Near.Audits.Violations > 0 {
		d.say(critical, sources.ServesReplaced, "Memory served what had been replaced, by the auditor: %d values in the last minute. The key with hash %016x was in memory since %s, was seen replaced at %s, and served at %s. The source leaves out changes, or the program changes values that it got.", d.minute.Near.Audits.Violations, v.Hash, clock(v.Loaded), clock(v.Differed), clock(v.Served))
	}
	// Of near/redis it is a third of MaxLag, and the round trip.
	if n.Serving && (n.Behind > n.MaxLag/6*5 || n.Behind > n.MaxLag/3*2 && d.goes(sources.SourceSlow)) {
		d.say(warning, sources.SourceSlow, "The source of changes confirms what is %s old, close to MaxLag, %s: set it to %s, or look for what is slow.", span(n.Behind), span(n.MaxLag), span(2*n.Behind))
	}
	if now.Undecodable > 0 && (minute.Undecodable >= 5 || d.goes(sources.Undecodable)) {
		d.say(warning, sources.Undecodable, "In the last minute %d values of the store could not be decoded: another version of the service, or another program, writes other values for the same keys. See docs/deploys.md.", minute.Undecodable)
	}
	if o, lost := &d.stats.operation, d.minute.operation.Lost; lost > 0 || o.Undone > 0 && len(d.samples) > 0 && d.samples[len(d.samples)-1].stats.operation.Undone > 0 {
		d.say(levelOf(lost > 0), sources.DelFails, "A Del fails: it is repeated for %d keys, of which the store may have old values that other instances serve, and in the last minute it was given up for %d (RetryDel, RetryKeys): delete these again.", o.Undone, lost)
	}
	if now.StoreErrors > 0 && minute.StoreErrors >= 5 || now.StoreErrors+now.Unasked > 0 && d.goes(sources.StoreFails) {
		d.say(levelOf(d.ten.operation.Refused > 0), sources.StoreFails, "The store fails: in the last 10 s %d of its calls failed and %d reads were not tried, in a minute %d and %d. %d fetches asked the database instead, and %d callers got errors.", now.StoreErrors, now.Unasked, minute.StoreErrors, minute.Unasked, minute.Bypasses, d.minute.operation.Refused)
	}
}

// violation returns the last that an auditor has found.
func (d *diagnosis) violation() (v sources.Violation) {
	if d.cache.Violation != nil {
		if last := d.cache.Violation(); last != nil {
			v = *last
		}
	}
	return v
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000 MST") }
