package stats

import (
	"fmt"
	"time"
)

// A finding says what is wrong with a cache, with the evidence.
type finding struct {
	Cause string `json:"cause"` // one of the causes below
	Words string `json:"words"`
}

// The causes, as the page shows them.
const (
	loadsHang     = "loads hang"
	loadsFail     = "loads fail"
	loadsSlow     = "loads slow"
	callbacksHang = "callbacks hang"
	isNew         = "new"
	wasCleared    = "cleared"
	ttlTooShort   = "TTL too short"
	limitTooSmall = "limit too small"
	moreKeys      = "more keys"
	onceOnly      = "keys asked for once"
	oneKey        = "one hot key"
	grows         = "grows without limit"
	sourceSilent  = "source silent"
	sourceSlow    = "source slow"
	sourcePartial = "source partial"
	storeFails    = "store fails"
	undecodable   = "values undecodable"
	workersBusy   = "workers busy"
)

const (
	minGetsPerMinute = 100 // with fewer a ratio is noise

	hanging  = 30 * time.Second // of a load
	stuck    = time.Minute      // of a call of OnRemove
	slow     = 50 * time.Millisecond
	hotShare = 0.3  // of the gets, for one key
	growing  = 1000 // entries: growth of smaller caches is ignored
	lightest = 8    // on average, of entries whose weight is their bytes
	rising   = 0.05 // of the gets, by which misses rise

	busySamples = 3 // in a row with callbacks that wait
)

// findings returns what is wrong with a cache, the most urgent first, and never nil.
// Without a history it knows only what hangs now.
func findings(l *look[Snapshot]) []finding {
	all := make([]finding, 0)
	say := func(cause, format string, args ...any) {
		all = append(all, finding{cause, fmt.Sprintf(format, args...)})
	}
	s, now, past := l.stats, lastMinute(l), beforeLastMinute(l)
	trouble := nearTrouble(&s.Near, now, say) // explains misses, as trouble with loads does
	if s.Loads.Running > 0 && s.Loads.Oldest >= hanging {
		trouble = true
		say(loadsHang, "Loads hang: %d run, the oldest for %s. What they ask, such as the database, does not answer.", s.Loads.Running, span(s.Loads.Oldest))
	}
	if failed := now.Loads.Failed.Count(); failed >= 5 && failed*20 > now.loads() {
		trouble = true
		say(loadsFail, "Loads fail: %s of the loads in the last minute. %s", part(failed, now.loads()), meanwhile(now))
	}
	if now.loads() >= 5 && now.loadTime() > slow && past.loads() >= 5 && now.loadTime() > 5*past.loadTime() {
		say(loadsSlow, "Loads are slow: they took %s on average in the last minute, and %s before. Callers that miss wait for them.", span(now.loadTime()), span(past.loadTime()))
	}
	if s.Callbacks.Oldest >= stuck {
		say(callbacksHang, "A call of OnRemove has run for %s, and %d calls wait.", span(s.Callbacks.Oldest), s.Callbacks.Queued)
	}
	if cause, words := whyMisses(l, now); cause != "" && !trouble {
		say(cause, "%s", words)
	}
	if s.HottestShare >= hotShare {
		say(oneKey, "One key has at least %s of the recent gets.", percent(s.HottestShare))
	}
	if more, ok := growth(l); ok {
		if s.MaxWeight == 0 {
			say(grows, "The cache has no limit and grows: %d entries, %d more than 5 min ago.", s.Entries, more)
		} else {
			say(grows, "The cache grows, and its entries weigh %.1f on average: %d entries, %d more than 5 min ago. If MaxWeight is in bytes, let Weigh add 100 for what an entry takes itself.", float64(s.Weight)/float64(s.Entries), s.Entries, more)
		}
	}
	return all
}

// wheelFindings returns what is wrong with a timing wheel, and never nil.
func wheelFindings(l *look[WheelSnapshot]) []finding {
	all, n := make([]finding, 0), len(l.samples)
	for i := 1; i <= busySamples; i++ {
		if n < i || l.samples[n-i].stats.Overdue == 0 {
			return all
		}
	}
	if s := l.stats; s.Overdue > 0 && s.Running >= l.wheel.Workers && l.wheel.Workers > 0 {
		all = append(all, finding{workersBusy, fmt.Sprintf("Callbacks are late: %d wait past their time, as all %d workers are busy. Raise WithWorkers, if callbacks need no order, or let them hand long work to goroutines of their own.", s.Overdue, l.wheel.Workers)})
	}
	return all
}

// meanwhile says what callers get while loads fail.
func meanwhile(now period) string {
	if now.HitsInGrace > 0 {
		return "Values past their deadline answer " + part(now.HitsInGrace, now.Gets()) + " of the gets, until their Grace ends."
	}
	return "No value past its deadline (Grace) answered instead: callers of missing keys get the error."
}

// growth returns how many entries a cache that nothing bounds has gained in five minutes, if it
// grew in each of them. A MaxWeight of a mebibyte and more seems to be of bytes: it bounds nothing
// if entries weigh next to none of those that they take.
func growth(l *look[Snapshot]) (more int, ok bool) {
	s, n := l.stats, len(l.samples)-1
	light := s.MaxWeight >= 1<<20 && s.Weight < lightest*uint64(s.Entries)
	if s.Limit > 0 || s.MaxWeight > 0 && !light || s.Entries < growing || n < historyPoints-1 {
		return 0, false
	}
	entries := s.Entries
	for i := n - samplesPerMinute; i >= 0; i -= samplesPerMinute {
		before := l.samples[i].stats.Entries
		if before >= entries {
			return 0, false
		}
		entries = before
	}
	more = s.Entries - l.samples[0].stats.Entries
	return more, more > s.Entries/20
}

// percent returns a fraction as text.
func percent(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

func part(n, of uint64) string { return percent(float64(n) / float64(max(of, 1))) }

// span returns a duration as text, with one unit.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}
