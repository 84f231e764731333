package stats

import (
	"fmt"
	"time"
)

// A period has what happened in a window. Its levels and gauges are those of its end.
type period struct {
	Snapshot
	length time.Duration
}

func (p *period) set(w point[Snapshot]) {
	p.Snapshot, p.length = *w.to, w.length
	subtract(cacheMetrics, &p.Snapshot, w.from)
}

// String says when it was, in words.
func (p *period) String() string {
	if p.length > 3*interval {
		return "in a minute"
	}
	return "in the last 10 s"
}

// samplesPerMinute is how many samples are taken in a minute.
const samplesPerMinute = int(time.Minute / interval)

// ratio returns n as a share of all, from 0 to 1.
func ratio(n, all uint64) float64 { return float64(n) / float64(max(all, 1)) }

// A share is how many of all there were in a period.
type share func(*period) (n, all uint64)

// often reports whether a share is above a bar. It is named as soon as that is clear, and ends when
// the last ten seconds have so few that they differ from the minute, if they have enough to tell.
func (d *diagnosis) often(cause string, of share, bar float64) bool {
	n, all := of(&d.ten)
	inMinute, allInMinute := of(&d.minute)
	now, usually := ratio(n, all), ratio(inMinute, allInMinute)
	if !d.goes(cause) {
		return n >= 3 && now > 0.5 || n >= 5 && now > bar || n > 0 && inMinute >= 5 && usually > bar
	}
	return now > bar/2 || usually > bar/2 && inMinute*all < 6*allInMinute
}

// mostly reports whether a share is above half of what there was now.
func (d *diagnosis) mostly(of share) bool {
	n, all := of(&d.ten)
	if all < 3 {
		n, all = of(&d.minute)
	}
	return 2*n > all
}

// count returns a share in words: of now and, if that differs, of the minute.
func (d *diagnosis) count(of share) string {
	n, all := of(&d.ten)
	words := fmt.Sprintf("%d of %d %v", n, all, &d.ten)
	if inMinute, allInMinute := of(&d.minute); allInMinute != all {
		words += fmt.Sprintf(", %d of %d in a minute", inMinute, allInMinute)
	}
	return words
}
