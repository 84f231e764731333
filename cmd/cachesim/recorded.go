package main

import (
	"bufio"
	"fmt"

	"github.com/pinwheel-cache/pinwheel/internal/recording"
)

// A recordingInfo is what a recording says besides its accesses.
type recordingInfo struct {
	header recording.Header
	end    recording.End
}

// ops are the ops of recorded accesses in a replay.
var ops = map[recording.Op]op{
	recording.Get:    opLook, // unless it hit
	recording.Set:    opStore,
	recording.Touch:  opTouch,
	recording.Remove: opRemove,
	recording.Clear:  opClear,
}

// readRecording reads a recording of a cache.
func (in *input) readRecording(name string, b *bufio.Reader) error {
	if in.recorded != nil || in.lines > 0 {
		return fmt.Errorf("%s is a recording: want no other file with it, as its keys have hashes of their own", name)
	}
	in.recorded = new(recordingInfo)
	header := func(h recording.Header) {
		in.recorded.header = h
		in.trace.inputShare = 1 / float64(h.OneIn)
	}
	end, err := recording.Read(b, header, func(a recording.Access) error {
		in.trace.add(replayed(a))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	in.recorded.end = end
	in.trace.total = in.recorded.gets()
	if in.trace.kept == 0 {
		return fmt.Errorf("%s has no get of a key in the sample: record for longer, or more keys", name)
	}
	return nil
}

func replayed(a recording.Access) access {
	got := access{op: ops[a.Op], hit: a.Hit, key: a.Key, at: a.At, ttl: a.TTL, size: a.Weight}
	if a.Hit {
		got.op = opRead
	}
	return got
}

func (r *recordingInfo) gets() uint64 {
	return r.end.Last.Hits + r.end.Last.Misses - r.end.First.Hits - r.end.First.Misses
}

// A check compares a replay of a recording with what the cache did.
type check struct {
	Cache  string `json:"cache"`
	Policy string `json:"policy"`
	Limit  uint64 `json:"limit"` // 0 is none
	Unit   string `json:"unit,omitempty"`
	OneIn  uint64 `json:"one_in"`
	Lost   uint64 `json:"lost"` // accesses that the recording lacks

	Counters  float64 `json:"hit_ratio_by_counters"` // of all gets of the cache
	Sample    float64 `json:"hit_ratio_in_sample"`   // the same, estimated from the recording
	Recorded  float64 `json:"hit_ratio_recorded"`    // of the recorded gets that a replay counts
	Simulated float64 `json:"hit_ratio_simulated"`   // of the same gets, by a replay
	Moved     bool    `json:"limit_changed"`         // while it was recorded
}

// agreement is the greatest difference between two hit ratios that agree.
const agreement = 0.02

// check replays the recording with the policy and limit that the cache had.
func (l *lab) check(r *recordingInfo) (*check, error) {
	first, last, h := r.end.First, r.end.Last, r.header
	of := limit{n: uint64(h.Limit)}
	if h.MaxWeight > 0 {
		of = limit{n: h.MaxWeight, inBytes: true}
	}
	c := &check{
		Cache: h.Cache, Policy: h.Policy, Limit: of.n, Unit: of.unit(), OneIn: h.OneIn, Lost: r.end.Lost,
		Moved:    first.Limit != last.Limit,
		Counters: part(last.Hits-first.Hits, r.gets()),
	}
	all, counted := l.trace.recordedHits()
	l.trace.scale(&all)
	l.trace.scale(&counted)
	c.Sample, c.Recorded = all.ratio(), counted.ratio()
	simulated, err := l.replay(l.trace, h.Policy, of)
	c.Simulated = simulated.ratio()
	return c, err
}

// recordedHits returns the gets and hits of the cache: all of a recording, and those that
// a replay counts.
func (t *trace) recordedHits() (all, counted run) {
	var c counter
	for i := range t.ids {
		hit := at(t.hits, i)
		c.count(t, i, hit)
		if at(t.ops, i).get() {
			all.Gets++
			if hit {
				all.Hits++
			}
		}
	}
	return all, run{Gets: c.gets, Hits: c.hits}
}

// text returns the check as sentences.
func (c *check) text() (lines []string) {
	of := "no limit"
	if c.Limit > 0 {
		of = "limit " + row{limit: c.Limit, unit: c.Unit}.name()
	}
	lines = append(lines,
		fmt.Sprintf("Recorded: cache %s, policy %s, %s; one key in %s.", c.Cache, c.Policy, of, thousands(c.OneIn)),
		fmt.Sprintf("Check: the cache counted a hit ratio of %s; its sample says %s. Of the gets that are replayed it answered %s, and the replay %s.",
			percent(c.Counters), percent(c.Sample), percent(c.Recorded), percent(c.Simulated)))
	switch {
	case c.Moved:
		lines = append(lines, "Check: the limit was changed while it was recorded, so the replay need not agree.")
	case c.disagrees():
		lines = append(lines, "Check: they DISAGREE by more than 2 points. Record for longer or more keys; a replay knows nothing of Idle.")
	}
	if c.Lost > 0 {
		lines = append(lines, fmt.Sprintf("Check: %s accesses were lost, as the writer of the recording was behind.", thousands(c.Lost)))
	}
	return lines
}

func (c *check) disagrees() bool {
	off := func(a, b float64) bool { return max(a-b, b-a) > agreement }
	return off(c.Counters, c.Sample) || off(c.Recorded, c.Simulated)
}
