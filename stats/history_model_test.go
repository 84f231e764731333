package stats_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A taken is a sample of the model, which keeps all of them.
type taken struct {
	at time.Time
	s  stats.Snapshot
}

// follow returns the samples that a history still has: those since the last gap, and the last
// 61 of these.
func follow(all []taken) []taken {
	for i := len(all) - 1; i > 0; i-- {
		if d := all[i].at.Sub(all[i-1].at); d > 20*time.Second || d < 0 {
			all = all[i:]
			break
		}
	}
	return all[max(0, len(all)-61):]
}

// modelPoints returns the points as documented.
func modelPoints(all []taken, now taken, n int) []stats.Point {
	known := follow(all)
	var points []stats.Point
	for i, s := range known {
		end, running := now, true
		if i+1 < len(known) {
			end, running = known[i+1], false
		}
		length := end.at.Sub(s.at)
		if running && length < time.Second {
			continue
		}
		points = append(points, stats.Point{Start: s.at, Length: length, From: s.s, To: end.s, Running: running})
	}
	return points[max(0, len(points)-n):]
}

// modelWindow begins with the earliest sample that is not much older than the window, or with
// the last if all are.
func modelWindow(all []taken, now taken, length time.Duration) stats.Point {
	from := now
	for _, s := range follow(all) {
		since, best := now.at.Sub(s.at), now.at.Sub(from.at)
		if since <= 0 {
			continue
		}
		tooOld := func(d time.Duration) bool { return d > length+2500*time.Millisecond }
		if best == 0 || tooOld(best) && since < best || !tooOld(since) && since > best {
			from = s
		}
	}
	return stats.Point{Start: from.at, Length: now.at.Sub(from.at), From: from.s, To: now.s}
}

func TestHistoryIsThatOfTheModel(t *testing.T) {
	milliseconds := func(from, to int) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.IntRange(from, to), func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond })
	}
	step := rapid.OneOf(
		rapid.Just(5*time.Second), rapid.Just(5*time.Second), rapid.Just(5*time.Second),
		milliseconds(0, 10_000),
		rapid.SampledFrom([]time.Duration{0, 1, 20 * time.Second, 20*time.Second + 1, time.Hour, -time.Second}),
	)
	offset := rapid.OneOf(
		milliseconds(0, 6000),
		rapid.SampledFrom([]time.Duration{0, 1, time.Second - 1, time.Second, 2500 * time.Millisecond, 2500*time.Millisecond + 1, time.Minute, time.Hour, -time.Second}),
	)
	rapid.Check(t, func(t *rapid.T) {
		var h stats.History
		var all []taken
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		var s stats.Snapshot
		more := func() {
			s.Hits += rapid.Uint64Range(0, 10).Draw(t, "hits")
			s.Entries = rapid.IntRange(0, 3).Draw(t, "entries")
		}
		steady := rapid.Bool().Draw(t, "steady")
		for range rapid.IntRange(0, 140).Draw(t, "samples") {
			if steady {
				at = at.Add(5 * time.Second)
			} else {
				at = at.Add(step.Draw(t, "step"))
			}
			more()
			h.Add(at, s)
			if n := len(all); n == 0 || !all[n-1].at.Equal(at) {
				all = append(all, taken{at, s})
			}
		}
		for range 4 {
			more()
			now := taken{at.Add(offset.Draw(t, "offset")), s}
			n := rapid.IntRange(0, 61).Draw(t, "n")
			got, want := h.Points(now.at, now.s, n), modelPoints(all, now, n)
			if len(got) != len(want) {
				t.Fatalf("%d points, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("point %d of %d is %+v, want %+v", i, n, got[i], want[i])
				}
			}
			for _, length := range []time.Duration{time.Minute, 5 * time.Minute} {
				if got, want := h.Window(now.at, now.s, length), modelWindow(all, now, length); got != want {
					t.Fatalf("the window of %v is %v from %v, want %v from %v", length, got.Length, got.Start, want.Length, want.Start)
				}
			}
		}
	})
}
