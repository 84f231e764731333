package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// curveOf returns a curve through hit ratios in per cent at limits.
func curveOf(policy string, ratios map[uint64]uint64) (runs []run) {
	for _, n := range []uint64{100, 200, 400, 800, 1600} {
		if ratio, ok := ratios[n]; ok {
			runs = append(runs, run{Policy: policy, Limit: n, Gets: 1000, Hits: 10 * ratio})
		}
	}
	return runs
}

func TestKnee(t *testing.T) {
	for _, test := range []struct {
		name   string
		ratios map[uint64]uint64
		want   uint64
	}{
		{"flat after 400", map[uint64]uint64{100: 30, 200: 60, 400: 80, 800: 82, 1600: 83}, 400},
		{"flat from the start", map[uint64]uint64{100: 80, 200: 80, 400: 80, 800: 80, 1600: 80}, 100},
		{"a cliff, as of a loop", map[uint64]uint64{100: 0, 200: 1, 400: 2, 800: 90, 1600: 90}, 800},
	} {
		points := curveOf("lru", test.ratios)
		if got := points[kneeOf(points)].Limit; got != test.want {
			t.Errorf("%s: knee at %d, want %d", test.name, got, test.want)
		}
	}
}

func TestBestCurve(t *testing.T) {
	low := map[uint64]uint64{100: 10, 200: 20}
	high := map[uint64]uint64{100: 9, 200: 22}
	runs := append(curveOf("lru", low), curveOf("adaptive", high)...)
	if got := bestCurve(runs); len(got) != 2 || got[0].Policy != "adaptive" {
		t.Errorf("the best is %v, want adaptive", got)
	}
	if got := bestCurve(append(curveOf("adaptive", low), curveOf("lru", low)...)); got[0].Policy != "lru" {
		t.Errorf("of two equal ones %s, want the simpler lru", got[0].Policy)
	}
}

// studied runs the program and returns what it found.
func studied(t testing.TB, input string, args ...string) report {
	t.Helper()
	status, stdout, stderr := cachesim(input, append([]string{"-json"}, args...)...)
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != 0 {
		t.Fatalf("status %d: %s (%v)", status, stderr, err)
	}
	return r
}

func TestAdviceIsRefused(t *testing.T) {
	once := loop(20_000, 20_000)
	short := loop(20_000, 3300) // each key six times: the limit is nearly all keys
	for name, test := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"few":   {text(zipf(100, 10, 1.2, 1)), nil, "only 100 gets"},
		"once":  {text(once), nil, "hardly any key is asked for twice"},
		"min":   {text(zipf(20_000, 1000, 1.2, 1)), []string{"-policies", "min"}, "at least 4 limits of lru or adaptive"},
		"short": {text(short), nil, "too few for the limit"},
	} {
		a := studied(t, test.input, test.args...).Advice
		if a.Limit != 0 || !strings.Contains(strings.Join(a.Refused, "; "), test.want) {
			t.Errorf("%s: %+v, want no advice, as %s", name, a, test.want)
		}
	}
}

// With a loop over 500 hot keys, the advice is a limit just above 500. With sizes there is advice in
// bytes too, and too few limits for a curve do not prevent it.
func TestAdviceFindsTheHotSet(t *testing.T) {
	var b strings.Builder
	for i := range 30_000 {
		key := i % 500
		if i%20 == 0 {
			key = 1_000_000 + i // once
		}
		fmt.Fprintf(&b, "%d,100\n", key)
	}
	args := []string{"-policies", "lru", "-format", "csv", "-key", "1", "-size", "2"}
	r := studied(t, b.String(), args...)
	a := r.AdviceInBytes
	if a == nil || a.Refused != nil || r.Advice.Refused != nil || a.Unit != "bytes" || a.Limit < 49_000 || a.Limit > 65_000 || r.Advice.Limit < 490 || r.Advice.Limit > 650 {
		t.Fatalf("in bytes %+v, want a little over 50,000; in entries %+v, want a little over 500", a, r.Advice)
	}
	_, stdout, _ := cachesim(b.String(), args...)
	for _, of := range []advice{r.Advice, *a} {
		if of.Seeds != seeds || of.Lowest > of.HitRatio || of.Highest < of.HitRatio || of.Half > of.HitRatio || of.Double < of.HitRatio-0.01 {
			t.Errorf("%+v", of)
		}
		if want := "\nAdvice: a limit of " + (row{limit: of.Limit, unit: of.Unit}).name() + " with policy lru"; !strings.Contains(stdout, want) {
			t.Errorf("%s\nwant %s", stdout, want)
		}
	}
	if few := studied(t, b.String(), append(args, "-limits", "10,100,5%")...); len(few.Runs) != 3 || few.Advice.Limit != r.Advice.Limit || few.AdviceInBytes != nil {
		t.Errorf("with three limits %+v and %+v, want the advice for entries as without", few.Advice, few.AdviceInBytes)
	}
	if few := studied(t, b.String(), append(args, "-limits", "10kB")...); few.Advice.Limit != a.Limit || few.Advice.Unit != "bytes" {
		t.Errorf("with a limit in bytes %+v, want the advice for bytes as without", few.Advice)
	}
}

func TestWorthOfAPoint(t *testing.T) {
	w := worthOfPoint(5000, 2*time.Millisecond, summary{})
	if want := (worth{5000, 50, 0.1, 2e-5}); w != want {
		t.Errorf("%+v, want %+v", w, want)
	}
	if w := worthOfPoint(0, 0, summary{Gets: 1000, Seconds: 10}); w.QueriesPerSecond != 1 {
		t.Errorf("%+v, want the rate of the input: 100 a second", w)
	}
	text := worthOfPoint(5000, 2*time.Millisecond, summary{}).text()
	if want := "One point of hit ratio is 50 queries a second less at 5,000 gets a second, 0.1 fewer connections busy, and 20µs off the mean get."; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// The report says what TTLs cost, at the ceiling and at the advised limit.
func TestWhatTTLsCost(t *testing.T) {
	var b strings.Builder
	for i, key := range zipf(20_000, 300, 1.3, 4) {
		fmt.Fprintf(&b, "%d,%d\n", key, i)
	}
	r := studied(t, b.String(), "-format", "csv", "-key", "1", "-time", "2", "-expire", "20s")
	if r.CeilingWithoutTTL == nil || r.CeilingWithoutTTL.ratio() < r.Ceiling.ratio()+0.1 {
		t.Errorf("ceilings %v and, without TTLs, %v", r.Ceiling, r.CeilingWithoutTTL)
	}
	if a := r.Advice; a.WithoutTTL < a.HitRatio+0.05 {
		t.Errorf("%+v: values that live for 20 of the gets cost nothing?", a)
	}
}
