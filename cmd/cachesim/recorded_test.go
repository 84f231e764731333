package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/recording"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// recordingOf returns a recording of accesses to a cache, one key in one.
func recordingOf(t testing.TB, h recording.Header, all []recording.Access, counters ...recording.Counters) string {
	t.Helper()
	r := recording.NewRecorder(1)
	for _, a := range all {
		r.Add(a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	err := r.Run(ctx, &out, h, func() (c recording.Counters) {
		c, counters = counters[0], counters[1:]
		return c
	})
	settle.Must(t, err)
	return out.String()
}

// A replay does what the recorded accesses did.
func TestReplayOfARecording(t *testing.T) {
	get := func(key uint64, hit bool) recording.Access {
		return recording.Access{Op: recording.Get, Key: key, Hit: hit}
	}
	set := func(key uint64) recording.Access { return recording.Access{Op: recording.Set, Key: key} }
	all := []recording.Access{
		get(1, true),          // stored before the recording: it does not count, but is there from now on
		get(1, true),          // counts
		get(2, false), set(2), // a miss, and what it led to
		get(2, true),
		{Op: recording.Remove, Key: 2},
		get(2, false), // not stored
		get(2, false), // so that it misses again
		{Op: recording.Clear},
		get(1, false),
		{Op: recording.Touch, Key: 1}, // of nothing
		get(1, false), set(1),
		get(1, true),
	}
	input := recordingOf(t, recording.Header{Cache: "users", Policy: "lru", Limit: 10, OneIn: 1}, all,
		recording.Counters{Hits: 100, Misses: 50, Limit: 10}, recording.Counters{Hits: 104, Misses: 55, Limit: 10})
	r := studied(t, input, "-limits", "10")
	for _, run := range r.Runs {
		if run.Gets != 8 || run.Hits != 3 {
			t.Errorf("%s: %d of %d gets hit, want 3 of 8", run.Policy, run.Hits, run.Gets)
		}
	}
	want := check{Cache: "users", Policy: "lru", Limit: 10, OneIn: 1, Counters: 4.0 / 9, Sample: 4.0 / 9, Recorded: 3.0 / 8, Simulated: 3.0 / 8}
	if r.Recording == nil || *r.Recording != want {
		t.Errorf("%+v, want %+v", r.Recording, want)
	}
	if _, text, _ := cachesim(input); strings.Contains(text, "DISAGREE") || !strings.Contains(text, "Recorded: cache users, policy lru, limit 10; one key in 1.") {
		t.Error(text)
	}
}

// A recording that contradicts its own counters is refused.
func TestCheckOfARecording(t *testing.T) {
	all := []recording.Access{
		{Op: recording.Get, Key: 1}, {Op: recording.Set, Key: 1},
		{Op: recording.Get, Key: 1}, // a miss although it was stored: that is no cache
		{Op: recording.Get, Key: 1},
	}
	h := recording.Header{Cache: "users", Policy: "lru", Limit: 10, OneIn: 1}
	input := recordingOf(t, h, all, recording.Counters{}, recording.Counters{Misses: 3})
	if _, text, _ := cachesim(input); !strings.Contains(text, "DISAGREE") {
		t.Error(text)
	}
	input = recordingOf(t, h, all, recording.Counters{Limit: 10}, recording.Counters{Misses: 3, Limit: 20})
	if _, text, _ := cachesim(input); strings.Contains(text, "DISAGREE") || !strings.Contains(text, "the limit was changed") {
		t.Error(text)
	}
}

func TestBadRecordings(t *testing.T) {
	h := recording.Header{Cache: "users", Policy: "lru", OneIn: 64}
	good := recordingOf(t, h, []recording.Access{{Op: recording.Get, Key: 1}}, recording.Counters{}, recording.Counters{Misses: 1})
	empty := recordingOf(t, h, nil, recording.Counters{}, recording.Counters{})
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"cut off": {[]string{good[:len(good)-9]}, "recording, byte 1"},
		"damaged": {[]string{strings.Replace(good, "users", "Users", 1)}, "recording, byte 21: the checksum"},
		"empty":   {[]string{empty}, "has no get of a key in the sample"},
		"two":     {[]string{good, good}, "is a recording: want no other file"},
		"keys":    {[]string{"key\n", good}, "is a recording: want no other file"},
		"after":   {[]string{good, "key\n"}, "comes after a recording"},
	} {
		var names []string
		for _, content := range test.files {
			names = append(names, file(t, "r", content))
		}
		status, _, stderr := cachesim("", names...)
		if status != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: status %d, %s\nwant %s", name, status, stderr, test.want)
		}
	}
	if status, _, stderr := cachesim(zipped(good)); status != 0 {
		t.Errorf("packed: %s", stderr)
	}
}

// A replay has the TTLs and weights of the recording.
func TestRecordedTTLsAndWeights(t *testing.T) {
	h := recording.Header{Cache: "users", Policy: "lru", MaxWeight: 100, OneIn: 1}
	var all []recording.Access
	for range 3 {
		for key := range uint64(2) { // 60 each: one evicts the other
			all = append(all, recording.Access{Op: recording.Get, Key: key},
				recording.Access{Op: recording.Set, Key: key, Weight: 60, TTL: time.Hour})
		}
	}
	r := studied(t, recordingOf(t, h, all, recording.Counters{}, recording.Counters{Misses: 6}), "-limits", "100B,120B", "-policies", "lru,min")
	if len(r.Runs) != 2 || r.Runs[0].Hits != 0 || r.Runs[1].Hits != 4 || r.Recording.Simulated != 0 || r.Recording.Unit != "bytes" {
		t.Errorf("%+v, %+v", r.Runs, r.Recording)
	}
	if r.CeilingWithoutTTL == nil {
		t.Error("it has no TTLs")
	}
}
