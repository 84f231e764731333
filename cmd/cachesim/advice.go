package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// advice is the recommended limit, or says why there is none.
type advice struct {
	Refused []string `json:"refused,omitempty"` // why there is no advice; the rest is zero then

	Policy   string  `json:"policy,omitempty"`
	Limit    uint64  `json:"limit,omitempty"`
	Unit     string  `json:"unit,omitempty"`
	HitRatio float64 `json:"hit_ratio,omitempty"`
	Knee     uint64  `json:"knee,omitempty"` // the limit at the knee of the curve
	Half     float64 `json:"hit_ratio_at_half,omitempty"`
	Double   float64 `json:"hit_ratio_at_double,omitempty"`

	// Lowest and Highest are hit ratios of several runs with different hash seeds; Error
	// is the error of the sample.
	Seeds   int     `json:"seeds,omitempty"`
	Lowest  float64 `json:"lowest,omitempty"`
	Highest float64 `json:"highest,omitempty"`
	Error   float64 `json:"error,omitempty"`

	Other      string  `json:"other_policy,omitempty"`
	OtherRatio float64 `json:"other_hit_ratio,omitempty"`

	WithoutTTL float64 `json:"hit_ratio_without_ttl,omitempty"`
}

const (
	// The least that advice needs.
	minGets      = 10_000
	minPoints    = 4    // on a curve
	getsPerEntry = 10   // at least, or the trace mostly fills the cache
	minCeiling   = 0.01 // share of the gets that can hit
	maxSkipped   = 0.1  // share of the lines
	maxError     = 0.02 // of a hit ratio from a sample

	seeds      = 5
	bisections = 4 // between two limits of the grid: down to 3 % of the limit
)

// advise finds the smallest limit that is within a point of the knee of the best
// policy's curve. If refine is set, or the report has too few limits for a curve, so that advise
// makes its own, it also looks between the limits of the curve.
func (l *lab) advise(r *report, policies []string, inBytes, refine bool) (a advice, err error) {
	curve := slices.DeleteFunc(slices.Clone(r.Runs), func(r run) bool { return r.Policy == clairvoyant || r.limit().inBytes != inBytes })
	if len(bestCurve(curve)) < minPoints {
		refine = true
		policies = slices.DeleteFunc(slices.Clone(policies), func(p string) bool { return p == clairvoyant })
		if curve, err = l.try(policies, l.grid(r.Input, inBytes)); err != nil {
			return a, err
		}
	}
	points := bestCurve(curve)
	if len(points) < minPoints {
		return advice{Refused: []string{fmt.Sprintf("a curve takes at least %d limits of lru or adaptive", minPoints)}}, nil
	}
	knee := kneeOf(points)
	want := points[knee].ratio() - 0.01
	i := slices.IndexFunc(points, func(r run) bool { return r.ratio() >= want })
	found := points[i]
	if refine && i > 0 {
		if found, err = l.bisect(points[i-1], points[i], want); err != nil {
			return advice{}, err
		}
	}
	entries := float64(found.Limit)
	if inBytes {
		entries /= r.Input.meanSize()
	}
	if float64(l.trace.total) < getsPerEntry*entries {
		return advice{Refused: []string{fmt.Sprintf("the input has %s gets, which is too few for the limit of %s that it suggests: want %d gets for each entry",
			thousands(l.trace.total), row{limit: found.Limit, unit: found.Unit}.name(), getsPerEntry)}}, nil
	}
	if found.Error > maxError {
		return advice{Refused: []string{fmt.Sprintf("the sample may be off by %s: want more keys, or a larger -sample", points100(found.Error))}}, nil
	}
	a = advice{
		Policy: found.Policy, Limit: found.Limit, Unit: found.Unit, HitRatio: found.ratio(),
		Knee: points[knee].Limit, Error: found.Error,
	}
	return a, l.probe(&a, otherPolicy(curve, a.Policy))
}

// refusals returns the reasons against any advice.
func refusals(ceiling run, in *input) (refused []string) {
	if n := in.trace.total; n < minGets {
		refused = append(refused, fmt.Sprintf("there are only %s gets: want at least %s", thousands(n), thousands(minGets)))
	}
	if part(in.skipped, in.lines) > maxSkipped {
		refused = append(refused, fmt.Sprintf("%s of %s lines could not be read", thousands(in.skipped), thousands(in.lines)))
	}
	if ceiling.ratio() < minCeiling {
		refused = append(refused, "hardly any key is asked for twice: no cache helps")
	}
	return refused
}

// bestCurve returns the runs of the policy with the most hits in total, by limit.
func bestCurve(curve []run) (best []run) {
	byPolicy := map[string][]run{}
	for _, r := range curve {
		byPolicy[r.Policy] = append(byPolicy[r.Policy], r)
	}
	hits := func(runs []run) (n uint64) {
		for _, r := range runs {
			n += r.Hits
		}
		return n
	}
	for _, runs := range byPolicy {
		if hits(runs) > hits(best) || hits(runs) == hits(best) && best != nil && runs[0].Policy == "lru" {
			best = runs
		}
	}
	return best
}

// kneeOf returns the index of the knee of a curve: the point highest above the line from
// no cache to where the curve stops rising (Satopää, Albrecht, Irwin and
// Raghavan, "Finding a 'Kneedle' in a Haystack", 2011).
func kneeOf(points []run) (knee int) {
	top := slices.MaxFunc(points, func(a, b run) int { return cmp.Compare(a.ratio(), b.ratio()) }).ratio()
	end := slices.IndexFunc(points, func(r run) bool { return r.ratio() >= top-0.001 })
	above := math.Inf(-1)
	for i, r := range points[:end+1] {
		if d := r.ratio()/top - float64(r.Limit)/float64(points[end].Limit); d > above {
			knee, above = i, d
		}
	}
	return knee
}

// bisect returns the run with the smallest limit that reaches a hit ratio, within a few
// per cent, between a limit that does not and one that does.
func (l *lab) bisect(below, reaches run, want float64) (run, error) {
	for range bisections {
		n := roundUp(math.Sqrt(float64(below.Limit) * float64(reaches.Limit)))
		if n <= below.Limit || n >= reaches.Limit {
			break
		}
		r, err := l.run(reaches.Policy, limit{n: n, inBytes: reaches.limit().inBytes})
		if err != nil {
			return r, err
		}
		if r.ratio() >= want {
			reaches = r
		} else {
			below = r
		}
	}
	return reaches, nil
}

// probe runs variants of the advised run: other seeds, half and double the limit, the
// other policy, no TTLs.
func (l *lab) probe(a *advice, other string) error {
	of := run{Limit: a.Limit, Unit: a.Unit}.limit()
	a.Lowest, a.Highest, a.Seeds = a.HitRatio, a.HitRatio, seeds
	runs, err := l.try([]string{a.Policy}, slices.Repeat([]limit{of}, seeds-1))
	if err != nil {
		return err
	}
	for _, r := range runs {
		a.Lowest, a.Highest = min(a.Lowest, r.ratio()), max(a.Highest, r.ratio())
	}
	half, double := of, of
	half.n, double.n = max(1, of.n/2), 2*of.n
	if runs, err = l.try([]string{a.Policy}, []limit{half, double}); err != nil {
		return err
	}
	a.Half, a.Double = runs[0].ratio(), runs[1].ratio()
	if other != "" {
		r, err := l.run(other, of)
		if err != nil {
			return err
		}
		a.Other, a.OtherRatio = other, r.ratio()
	}
	if l.ttls {
		r, err := l.withoutTTLs().run(a.Policy, of)
		a.WithoutTTL = r.ratio()
		return err
	}
	return nil
}

// otherPolicy returns the other policy that was tried, or "".
func otherPolicy(curve []run, than string) string {
	for _, r := range curve {
		if r.Policy != than {
			return r.Policy
		}
	}
	return ""
}

// withoutTTLs returns a lab in which nothing expires.
func (l *lab) withoutTTLs() *lab {
	eternal := *l
	eternal.ttls = false
	return &eternal
}
