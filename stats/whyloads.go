package stats

import (
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

const (
	hanging    = 30 * time.Second      // of one load
	someHang   = 5 * time.Second       // of several, if loads are usually far shorter
	slow       = 50 * time.Millisecond // with less, load times do not matter
	verySlow   = time.Second           // even if nothing is known of what is usual
	failShare  = 0.05                  // of the loads
	inRow      = 3                     // failures of one key
	fewKeys    = 10
	leastLoads = 5 // of which a mean says something
)

func failedLoads(p *period) (n, all uint64) { return p.Loads.Failed.Count(), p.Loads.all().Count() }

func timedOutLoads(p *period) (n, all uint64) { return p.Loads.TimedOut.Count(), p.Loads.all().Count() }

// failing looks for loads that bring nothing, of all keys or of one.
func (d *diagnosis) failing() {
	o, within := &d.stats.operation, "within the deadlines of callers or clients (there is no Timeout)"
	if t := d.cache.Now().Timeout; t > 0 {
		within = "within Timeout (" + span(t) + ")"
	}
	recent := &d.ten
	if d.goes(sources.OneKeyFails) {
		recent = &d.minute
	}
	one := o.InRow >= inRow && o.Failing <= fewKeys && recent.Loads.failed().Count() > 0 // of many, most are left over from an incident
	few := one && o.Failing <= inRow && d.ten.Loads.OK.Count() >= inRow
	if n := d.stats.Loads.Queued; n > 0 {
		within += fmt.Sprintf(", or waits for a place (%d wait, MaxLoads is %d)", n, d.cache.Now().MaxLoads)
	}
	bad := d.ten.operation.Refused + d.ten.Loads.Abandoned
	look := func(cause, words string, of share) {
		if !few && d.often(cause, of, failShare) {
			suffer := d.mostly(of) && bad > 0 && bad*20 >= d.ten.HitsInGrace
			d.say(levelOf(suffer), cause, words, d.count(of), d.meanwhile())
		}
	}
	look(sources.LoadsTimeOut, "Loads time out: %s. What they ask does not answer "+within+": it hangs, or is too slow. %s", timedOutLoads)
	look(sources.LoadsFail, "Loads fail: %s. %s", failedLoads)
	if one && !d.lately(sources.LoadsTimeOut, sources.LoadsFail) {
		d.say(warning, sources.OneKeyFails, "Few keys fail, while others do not: %d; one of them %d times in a row%s. %s", o.Failing, o.InRow, d.worst(d.cache.FailingKeys), d.meanwhile())
	}
}

// meanwhile says what callers get while loads fail.
func (d *diagnosis) meanwhile() string {
	return fmt.Sprintf("In a minute values past their deadline (Grace) answered %d gets, %d callers got errors, and %d gave up.", d.minute.HitsInGrace, d.minute.operation.Refused, d.minute.Loads.Abandoned)
}

// worst names the first of some keys, if the cache offers them: by the hash, if the text may be a secret.
func (d *diagnosis) worst(keys func() []sources.BadKey) string {
	if keys == nil {
		return ""
	}
	all := keys()
	if len(all) == 0 {
		return ""
	}
	k := all[0]
	name := fmt.Sprintf("key %q", shorten(k.Key))
	if k.Key == "" {
		name = fmt.Sprintf("the key with hash %016x", k.Hash)
	}
	return fmt.Sprintf(" (%s, for %s)", name, span(d.at.Sub(k.Since)))
}

// hang looks for loads that do not end: one for long or, if that is far from usual, several.
func (d *diagnosis) hang() {
	l, least, now := &d.stats.Loads, hanging, d.window(someHang)
	if usual := d.usual.load; usual > 0 && usual < float64(someHang)/20 && l.Running >= 3 && now.length > 0 && now.from.Loads.OK == l.OK {
		least = someHang
	}
	if l.Running == 0 || l.Oldest < least || d.said(sources.LoadsTimeOut) {
		return
	}
	d.say(critical, sources.LoadsHang, "Loads hang: %d run, the oldest for %s%s. What they ask, such as the database, does not answer.", l.Running, span(l.Oldest), d.worst(d.cache.SlowKeys))
}

// slow looks for loads that take far longer than usual or, where nothing is known of that, very long:
// what a process finds at its start may be an incident already.
func (d *diagnosis) slow() {
	now := &d.ten
	if now.Loads.OK.Count() < leastLoads {
		now = &d.minute
	}
	ok, usual, least, words := now.Loads.OK.data(), d.usual.load, slow, "usually "+span(time.Duration(d.usual.load))
	if usual == 0 {
		least, words = verySlow, "what is usual is not known"
	}
	mean := ok.Mean()
	bar := max(d.bar(float64(least), sources.LoadsSlow), d.bar(5*usual, sources.LoadsSlow))
	// One load in a hundred that takes a minute does not make the others slow.
	if ok.Count() < leastLoads || min(float64(mean), 2*float64(ok.Quantile(0.9))) <= bar || d.said(sources.LoadsHang, sources.LoadsTimeOut) {
		return
	}
	d.say(levelOf(mean > verySlow), sources.LoadsSlow, "Loads are slow: %s on average %v, %s in a minute, %s. Callers that miss wait for them; %d loads wait for a place.", span(mean), now, span(d.minute.Loads.OK.data().Mean()), words, d.stats.Loads.Queued)
}

// queue looks for loads that wait for a permit, unless loads that take too long explain it.
func (d *diagnosis) queue() {
	waits := d.ten.operation.Permits
	n, p99 := waits.Count(), waits.Quantile(0.99)
	if d.said(sources.LoadsHang, sources.LoadsTimeOut, sources.LoadsSlow) || n < leastLoads || float64(p99) < d.bar(float64(slow), sources.WaitingForPlace) {
		return
	}
	d.say(levelOf(p99 > time.Second), sources.WaitingForPlace, "Loads wait for a place: %d of %d in the last 10 s, the slowest hundredth %s and more; %d wait now. MaxLoads is %d: raise it, if what they ask bears more at once.", n, d.ten.Loads.all().Count(), span(p99), d.stats.Loads.Queued, d.cache.Now().MaxLoads)
}
