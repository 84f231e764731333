package stats

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// A finding says what is wrong with a cache, a timing wheel or the process, with the evidence.
type finding struct {
	Cause string  `json:"cause"` // one of sources.Causes, or of the process
	Words string  `json:"words"`
	Level string  `json:"level"`
	Since float64 `json:"since_seconds"` // how long ago it began
	Ended float64 `json:"ended_seconds"` // how long ago it ended; 0 while it goes on
}

// The levels of findings.
const (
	critical = "critical" // callers suffer now
	warning  = "warning"  // something has changed, and may hurt
	advice   = "advice"   // what could be better, or is as intended
)

var levels = []string{critical, warning, advice}

// levelOf returns the level of a finding that callers suffer from, or not yet.
func levelOf(suffer bool) string {
	if suffer {
		return critical
	}
	return warning
}

const (
	hotShare = 0.3  // of the gets, for one key
	growing  = 1000 // entries: growth of smaller caches is ignored
	lightest = 8    // on average, of entries whose weight is their bytes

	bytesFrom   = 1 << 20 // a MaxWeight of so much seems to be of bytes
	busySamples = 3       // in a row with callbacks that wait

	manyCallbacks = 100 // of OnRemove, that wait

	settled = 4 * time.Second // without what it says a finding has ended: at the second sample
	shown   = time.Minute     // for so long it is shown as ended

	critically = 20 * time.Second // for so long it stays critical
)

// A memory is what is kept of the findings of a source from look to look. It does not grow.
type memory struct {
	known []remembered // each cause once
	usual usual
	bound bound
}

// A remembered is a finding that goes on, or has ended within a minute.
type remembered struct {
	finding
	began, seen time.Time
	urgent      time.Time     // when it was last critical, which it stays for a while, or its level would flap
	lasts       time.Duration // it ends so long after it was seen: at first settled, after a return a minute, or it would flap
}

// update remembers what a look has found, and returns what is to be shown, never nil: what goes on
// before what has ended, the most urgent first.
func (m *memory) update(now time.Time, found []finding) []finding {
	for _, f := range found {
		i := slices.IndexFunc(m.known, func(k remembered) bool { return k.Cause == f.Cause })
		if i < 0 {
			i = len(m.known)
			m.known = append(m.known, remembered{began: now, lasts: settled})
		}
		k := &m.known[i]
		if k.Ended > 0 {
			k.lasts = shown
		}
		if f.Level == critical {
			k.urgent = now
		} else if f.Level == warning && now.Sub(k.urgent) < critically {
			f.Level = critical
		}
		k.finding, k.seen = f, now
	}
	m.known = slices.DeleteFunc(m.known, func(k remembered) bool { return now.Sub(k.seen) > k.lasts+shown })
	all := make([]finding, len(m.known))
	for i := range m.known {
		k := &m.known[i]
		k.Since = max(now.Sub(k.began), 0).Seconds()
		if ago := now.Sub(k.seen); ago > k.lasts {
			k.Ended = ago.Seconds()
		}
		all[i] = k.finding
	}
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(min(a.Ended, 1), min(b.Ended, 1)), slices.Index(levels, a.Level)-slices.Index(levels, b.Level))
	})
	return all
}

// goes reports whether one of the causes went on at the last look.
func (m *memory) goes(causes ...string) bool {
	return slices.ContainsFunc(m.known, func(k remembered) bool { return k.Ended == 0 && slices.Contains(causes, k.Cause) })
}

// judge returns the findings of a look, and remembers them. From a sample it also learns what is
// usual.
func (r *registry[S]) judge(l *look[S], sampled bool) []finding {
	r.mu.Lock()
	if l.memory == nil {
		l.memory = new(memory)
	}
	m := *l.memory
	m.known = slices.Clone(m.known) // an update changes it
	r.mu.Unlock()
	var found []finding
	switch l := any(l).(type) { // no lock is held, as a source is asked for keys
	case *look[Snapshot]:
		found = diagnose(l, &m, sampled)
	case *look[WheelSnapshot]:
		found = wheelFindings(l)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.memory.usual, l.memory.bound = m.usual, m.bound
	return l.memory.update(l.at, found)
}

// A diagnosis finds what is wrong with a cache. Without a history it knows only what hangs now.
type diagnosis struct {
	*look[Snapshot]
	*memory
	ten, minute period // what happened in the last seconds
	found       []finding
}

// diagnoses are reused, as they are large.
var diagnoses = sync.Pool{New: func() any { return new(diagnosis) }}

// checks look for one thing each. Those that explain others come first.
var checks = [...]func(*diagnosis){
	(*diagnosis).near, (*diagnosis).failing, (*diagnosis).hang, (*diagnosis).slow, (*diagnosis).queue,
	(*diagnosis).callbacks, (*diagnosis).whyMisses, (*diagnosis).hotKey, (*diagnosis).growth,
}

// diagnose returns what is wrong with a cache.
func diagnose(l *look[Snapshot], m *memory, sampled bool) []finding {
	d := diagnoses.Get().(*diagnosis)
	defer diagnoses.Put(d)
	d.look, d.memory, d.found = l, m, nil
	d.ten.set(l.window(10*time.Second - interval/2)) // not longer, so that what has ended is named soon
	d.minute.set(l.window(time.Minute))
	m.bound.see(l, m.goes(sources.LimitLowered))
	for _, check := range checks {
		check(d)
	}
	if sampled {
		d.learn()
	}
	return d.found
}

// say adds a finding.
func (d *diagnosis) say(level, cause, format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if slices.Contains(d.cache.Settings.Accept, cause) {
		level, words = advice, "As intended: "+words
	}
	d.found = append(d.found, finding{Cause: cause, Words: words, Level: level})
}

// said reports whether one of the causes was found in this look.
func (d *diagnosis) said(causes ...string) bool {
	return slices.ContainsFunc(d.found, func(f finding) bool { return slices.Contains(causes, f.Cause) })
}

// lately reports whether one of the causes was found in this look, or within the last minute.
func (d *diagnosis) lately(causes ...string) bool {
	return d.said(causes...) || slices.ContainsFunc(d.known, func(k remembered) bool { return slices.Contains(causes, k.Cause) })
}

// bar returns what must be exceeded for a finding to begin or, if it goes on, to go on: half of that,
// so that what is near the bar does not come and go.
func (d *diagnosis) bar(begin float64, causes ...string) float64 {
	if d.goes(causes...) {
		return begin / 2
	}
	return begin
}

func (d *diagnosis) callbacks() {
	c, blocked := &d.stats.Callbacks, d.stats.operation.Blocked
	recent := d.samples[max(len(d.samples)-busySamples, 0):]
	if len(recent) == 0 || recent[len(recent)-1].stats.operation.Blocked == 0 {
		blocked = 0 // perhaps for a moment only
	}
	waiting := c.Queued
	for _, s := range recent {
		waiting = min(waiting, s.stats.Callbacks.Queued)
	}
	// A queue that gets shorter is that of a Clear.
	behind := len(recent) == busySamples && float64(waiting) >= d.bar(manyCallbacks, sources.CallbacksHang) && c.Queued*2 > recent[0].stats.Callbacks.Queued
	if c.Oldest >= time.Minute || blocked > 0 || behind {
		d.say(levelOf(blocked > 0), sources.CallbacksHang, "OnRemove is too slow: a call has run for %s, %d calls wait, and %d callers of the cache wait for them.", span(c.Oldest), c.Queued, blocked)
	}
}

func (d *diagnosis) hotKey() {
	if share := d.stats.HottestShare; share >= d.bar(hotShare, sources.OneHotKey) {
		d.say(advice, sources.OneHotKey, "One key has at least %s of the recent gets.", percent(share))
	}
}

// growth looks whether a cache that nothing bounds has grown in each of five minutes. A MaxWeight of bytes
// bounds nothing if entries weigh next to none of those that they take.
func (d *diagnosis) growth() {
	s, n := d.stats, len(d.samples)-1
	light := s.MaxWeight >= bytesFrom && s.Weight < lightest*uint64(s.Entries)
	if s.Limit > 0 || s.MaxWeight > 0 && !light || s.Entries < growing || n < historyPoints-1 {
		return
	}
	entries := s.Entries
	for i := n - samplesPerMinute; i >= 0; i -= samplesPerMinute {
		before := d.samples[i].stats.Entries
		if before >= entries {
			return
		}
		entries = before
	}
	switch more := s.Entries - d.samples[0].stats.Entries; {
	case float64(more) <= d.bar(float64(s.Entries)/20, sources.Grows):
	case s.MaxWeight == 0:
		d.say(warning, sources.Grows, "The cache has no limit and grows: %d entries, %d more than 5 min ago.", s.Entries, more)
	default:
		d.say(warning, sources.Grows, "The cache grows, and its entries weigh %.1f on average: %d entries, %d more than 5 min ago. If MaxWeight is in bytes, let Weigh add 100 for what an entry takes itself.", float64(s.Weight)/float64(s.Entries), s.Entries, more)
	}
}

// wheelFindings returns what is wrong with a timing wheel.
func wheelFindings(l *look[WheelSnapshot]) []finding {
	recent := l.samples[max(len(l.samples)-busySamples, 0):]
	late := len(recent) == busySamples && !slices.ContainsFunc(recent, func(s *sample[WheelSnapshot]) bool { return s.stats.Overdue == 0 })
	if s := l.stats; late && s.Overdue > 0 && s.Running >= l.wheel.Workers && l.wheel.Workers > 0 {
		return []finding{{Cause: sources.WorkersBusy, Level: warning, Words: fmt.Sprintf("Callbacks are late: %d wait past their time, as all %d workers are busy. Raise WithWorkers, if callbacks need no order, or let them hand long work to goroutines of their own.", s.Overdue, l.wheel.Workers)}}
	}
	return nil
}

// percent returns a fraction as text.
func percent(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

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
