package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// policies are the policies of a cache. MIN is not among them.
var policies = map[string]cache.Policy{"lru": cache.LRU, "adaptive": cache.Adaptive}

// everyPolicy lists all policies, as the flag has them.
const everyPolicy = "lru,adaptive,min"

const clairvoyant = "min"

// A run is the result of a policy with a limit. Programs read its JSON.
type run struct {
	Policy string  `json:"policy"`
	Limit  uint64  `json:"limit"`          // 0 is none
	Unit   string  `json:"unit,omitempty"` // "bytes", or "" for entries
	Gets   uint64  `json:"gets"`
	Hits   uint64  `json:"hits"`
	Error  float64 `json:"error,omitempty"` // of the hit ratio: 19 times in 20 it is at most so far off

	// Shares of the gets, if sizes are known.
	Bytes       uint64 `json:"bytes,omitempty"`
	BytesInHits uint64 `json:"bytes_in_hits,omitempty"`
}

func (r run) limit() limit       { return limit{n: r.Limit, inBytes: r.Unit != ""} }
func (r run) ratio() float64     { return part(r.Hits, r.Gets) }
func (r run) byteRatio() float64 { return part(r.BytesInHits, r.Bytes) }

func part(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// A lab replays a trace with different policies and limits.
type lab struct {
	trace *trace
	parts []*trace // of the trace, if it is a sample, to estimate its error
	ttls  bool     // values expire
}

// A sample is split into sampleParts parts. Their standard error times student bounds the
// error 19 times in 20 (Student's t, seven degrees of freedom).
const (
	sampleParts = 8
	student     = 2.365
)

func newLab(t *trace) *lab {
	l := &lab{trace: t, ttls: t.ttls != nil}
	if t.sampled() {
		l.parts = t.parts(sampleParts)
	}
	return l
}

// try runs each policy with each limit, concurrently on all processors.
func (l *lab) try(policies []string, limits []limit) ([]run, error) {
	runs := make([]run, len(policies)*len(limits))
	errs := make([]error, len(runs))
	jobs := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range jobs {
				runs[i], errs[i] = l.run(policies[i%len(policies)], limits[i/len(policies)])
			}
		})
	}
	for i := range runs {
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(runs, func(r run) bool { return r.Policy == "" }), nil // MIN has no limits in bytes
}

// run runs one policy with one limit, except MIN with a limit in bytes: the optimum with
// sizes takes too long to compute.
func (l *lab) run(policy string, of limit) (run, error) {
	if policy == clairvoyant && of.inBytes {
		return run{}, nil
	}
	r, err := l.replay(l.trace, policy, of)
	if err != nil || l.parts == nil {
		return r, err
	}
	var ratios []float64
	for _, p := range l.parts {
		r, err := l.replay(p, policy, of)
		if err != nil {
			return r, err
		}
		ratios = append(ratios, r.ratio())
	}
	r.Error = student * deviation(ratios) / math.Sqrt(sampleParts)
	return r, nil
}

// replay runs a policy on a trace and scales what it counts to the whole input.
func (l *lab) replay(t *trace, policy string, of limit) (run, error) {
	scaled := uint64(0)
	if of.n > 0 {
		scaled = uint64(max(1, math.Round(float64(of.n)*t.rate())))
	}
	var c counts
	if policy == clairvoyant {
		if of.n == 0 {
			scaled = uint64(len(t.ids))
		}
		c = simulateMin(t, int(scaled), l.ttls)
	} else {
		p, ok := policies[policy]
		if !ok {
			return run{}, fmt.Errorf("-policies has %q: want lru, adaptive or min", policy)
		}
		var err error
		if c, err = simulateCache(t, p, scaled, of.inBytes, l.ttls); err != nil {
			return run{}, err
		}
	}
	r := run{Policy: policy, Limit: of.n, Unit: of.unit(), Gets: c.gets, Hits: c.hits, Bytes: c.bytes, BytesInHits: c.bytesInHits}
	if t.sampled() {
		t.scale(&r)
	}
	return r, nil
}

// scale turns the counts of a sample into estimates for the whole input. The number of
// gets in a sample depends on a few hot keys, which hit with any limit. So scale counts
// missing gets as hits, and takes excess ones off the hits, as SHARDS does.
func (t *trace) scale(r *run) {
	rate := t.rate()
	surplus := float64(t.total)*rate - float64(t.kept)
	gets := max(float64(r.Gets)+surplus, 0)
	hits := min(max(float64(r.Hits)+surplus, 0), gets)
	r.Gets, r.Hits = uint64(math.Round(gets/rate)), uint64(math.Round(hits/rate))
	r.Bytes, r.BytesInHits = uint64(float64(r.Bytes)/rate), uint64(float64(r.BytesInHits)/rate)
}

// deviation returns the standard deviation of a sample.
func deviation(values []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}
