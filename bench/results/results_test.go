package results

import (
	"math"
	"strings"
	"testing"
)

func TestMedianAndSpread(t *testing.T) {
	for _, test := range []struct {
		values         []float64
		median, spread float64
	}{
		{[]float64{7}, 7, 0},
		{[]float64{3, 1, 2}, 2, 0.25},
		{[]float64{4, 1, 3, 2}, 2.5, 0.3},
		{[]float64{0, 0}, 0, 0},
	} {
		if got := Median(test.values); got != test.median {
			t.Errorf("Median(%v) = %v, want %v", test.values, got, test.median)
		}
		if got := Spread(test.values); math.Abs(got-test.spread) > 1e-9 {
			t.Errorf("Spread(%v) = %v, want %v", test.values, got, test.spread)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v, want NaN", got)
	}
}

// sample returns two rounds near each other, one far apart and one of both kinds.
func sample() *Results {
	r := &Results{Libraries: []string{Us, Rival}}
	const name = "uint64/100k/ttl/reads100/2 threads"
	r.Add(name, Rival, NsPerOp, 40, 60, 30)
	r.Merge(Part{Series: []Series{
		{name, Us, NsPerOp, []float64{10, 30, 15, 99}},
		{name, Rival, NsPerOp, []float64{99}},
		{"memory/uint64", Us, "B/entry", []float64{57}},
		{"burst/uint64", Us, "Get max ns", []float64{5_771_362_304}},
	}})
	r.AddDistance(name, Near, Far, Near, Mixed)
	return r
}

func TestTables(t *testing.T) {
	var b strings.Builder
	if err := sample().Tables(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### uint64/100k/ttl\n",
		"| ns/op | pinwheel | otter |\n",
		"| reads100/2 threads, near | 12.5 ±10 % | 35.0 ±7 % |\n",
		"| reads100/2 threads, far | 30.0 | 60.0 |\n",
		"### memory/uint64\n",
		"| library | B/entry |\n",
		"| pinwheel | 57.0 |\n",
		"| library | Get max |\n",
		"| pinwheel | 5.77s |\n",
		"| uint64/100k/ttl/reads100/2 threads, near | 0.38 | 0.25 | 0.50 | 2 |\n",
		"| uint64/100k/ttl/reads100/2 threads, far | 0.50 | 0.50 | 0.50 | 1 |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), Mixed) {
		t.Errorf("a round in which the distance changed is in the tables:\n%s", b.String())
	}
}
