package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// A contender is a library with its cache of a group.
type contender[K libs.Key, V any] struct {
	libs.Library
	cache libs.Cache[K, V]
}

// A groupRun is the state of a group whose cases run.
type groupRun[K libs.Key, V any] struct {
	group
	settings
	*workload[K, V]
	contenders []contender[K, V]
	part       results.Part
}

// runGroup runs the selected cases of a group.
func runGroup(g group, s settings) (results.Part, error) {
	if g.keys == "string" {
		return runGroupOf(g, s, byString)
	}
	return runGroupOf(g, s, byUint64)
}

func runGroupOf[K libs.Key, V any](g group, s settings, k kind[K, V]) (results.Part, error) {
	jobs := s.jobs(g)
	if s.short {
		g.capacity /= 50
	}
	r := groupRun[K, V]{group: g, settings: s, workload: newWorkload(g, k)}
	for _, l := range s.libraries() {
		if cache := k.new(l)(r.config(g)); cache != nil {
			r.fill(g, cache)
			r.contenders = append(r.contenders, contender[K, V]{l, cache})
		}
	}
	runtime.GC()
	operations := make(map[string]operation[K, V])
	for _, j := range jobs {
		if _, ok := operations[j.op]; !ok {
			operations[j.op] = r.operation(j.op)
		}
	}
	for round := range s.rounds {
		fmt.Fprintf(os.Stderr, "%s and %d more, %d libraries: round %d of %d\n", jobs[0].name, len(jobs)-1, len(r.contenders), round+1, s.rounds)
		for _, j := range jobs {
			if err := r.runCase(j, operations[j.op], round); err != nil {
				return r.part, err
			}
		}
	}
	return r.part, nil
}

// runCase runs a round of a case: every library once, in random order.
func (r *groupRun[K, V]) runCase(j job, op operation[K, V], round int) error {
	if op.prepare != nil {
		op.prepare()
	}
	several := j.threads > 1 && runtime.NumCPU() > 1
	var before string
	if several {
		before = distance()
	}
	for _, i := range rand.Perm(len(r.contenders)) {
		if err := r.sample(&r.contenders[i], j, op, round); err != nil {
			return err
		}
	}
	if several {
		r.part.AddDistance(j.name, between(before, distance()))
	}
	return nil
}

// sample measures a library once, after a warm-up of the processor's caches.
func (r *groupRun[K, V]) sample(l *contender[K, V], j job, op operation[K, V], round int) error {
	if op.able != nil && !op.able(l.cache) || l.Sole && j.threads > 1 {
		return nil
	}
	if op.grows && l.Unbounded {
		libs.Close(l.cache)
		l.cache = r.kind.new(l.Library)(r.config(r.group))
		r.fill(r.group, l.cache)
	}
	length := len(r.indices)
	offset := round * (length / r.rounds)
	batch := func(at int) int { return op.batch(l.cache, at) }
	if !op.grows {
		measure(j.threads, r.time/16, length, offset, batch)
	}
	ns, found := measure(j.threads, r.time, length, offset, batch)
	if op.finds && found == 0 && l.Name != "null" {
		return fmt.Errorf("%s: %s found nothing", j.name, l.Name)
	}
	r.part.Add(j.name, l.Name, results.NsPerOp, ns)
	return nil
}

// A job is a selected case of a group.
type job struct {
	name, op string
	threads  int
}

// jobs returns the selected cases of a group.
func (s settings) jobs(g group) []job {
	var jobs []job
	for _, op := range g.ops {
		for _, threads := range g.threads {
			if name := g.caseName(op, threads); s.cases.MatchString(name) {
				jobs = append(jobs, job{name, op, threads})
			}
		}
	}
	return jobs
}

// libraries returns the selected libraries.
func (s settings) libraries() []libs.Library {
	return slices.DeleteFunc(slices.Clone(libs.All), func(l libs.Library) bool { return !s.libs.MatchString(l.Name) })
}
