package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pinwheel-cache/pinwheel/bench/switch/traffic"
)

// seed is the seed of all loads: every side gets the same requests at the same times.
const seed = 1

var (
	// compared are the sides that run once in each round.
	compared = []side{before, after}

	// kept are the sides of the keep-alive part.
	kept = []side{before, after, afterLog}
)

// measured has all results.
type measured struct {
	settings
	http   map[side][]sample // by round
	direct map[side][]sample // without HTTP
	kept   map[side]sample
}

// A sample is a run of a program. One without HTTP has no outcome and no log, and its
// figures are per operation.
type sample struct {
	outcome
	cpu, wall     time.Duration
	memory        int    // the most bytes at once
	goroutines    uint64 // before the load
	allocs, bytes float64
	idle          time.Duration // processor time of a second without use
	log           logLines
}

// measure runs everything. The keep-alive part runs beside the rounds, as it takes as long
// and nearly no processor time.
func measure(s settings, dir string) (*measured, error) {
	m := &measured{s, make(map[side][]sample), make(map[side][]sample), make(map[side]sample)}
	services, err := buildAll(kept, servicePkg, dir)
	if err != nil {
		return nil, err
	}
	drivers, err := buildAll(compared, driverPkg, dir)
	if err != nil {
		return nil, err
	}
	ended := m.keepSessions(services)
	err = m.runRounds(services, drivers)
	return m, errors.Join(err, ended())
}

// buildAll builds a package for some sides.
func buildAll(sides []side, pkg, dir string) (programs map[side]string, err error) {
	programs = make(map[side]string)
	for _, s := range sides {
		if programs[s], err = s.build(pkg, dir); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// keepSessions starts the keep-alive part, and returns a function that waits for its end.
func (m *measured) keepSessions(services map[side]string) (wait func() error) {
	k := m.sessions
	plan := traffic.KeepAlive(seed, k.each, k.beat, k.look, k.ttls)
	samples := make([]sample, len(kept))
	var runs errgroup.Group
	for i, side := range kept {
		runs.Go(func() (err error) {
			samples[i], err = serve(services[side], plan)
			return err
		})
	}
	return func() error {
		err := runs.Wait()
		for i, side := range kept {
			m.kept[side] = samples[i]
		}
		return err
	}
}

// runRounds runs each side once in each round, and each round begins with another side.
func (m *measured) runRounds(services, drivers map[side]string) error {
	plan := traffic.Load(seed, m.perSecond, m.round)
	order := slices.Clone(compared)
	for i := range m.rounds {
		for _, side := range order {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", i+1, m.rounds, side.name)
			overHTTP, err := serve(services[side], plan)
			if err != nil {
				return err
			}
			direct, err := drive(drivers[side], m.driven)
			if err != nil {
				return err
			}
			m.http[side] = append(m.http[side], overHTTP)
			m.direct[side] = append(m.direct[side], direct)
		}
		slices.Reverse(order)
	}
	return nil
}

// serve runs a service and plays a plan to it.
func serve(program string, plan traffic.Plan) (s sample, err error) {
	p, err := start(program, plan.TTL)
	if err != nil {
		return s, err
	}
	idle, err := p.self()
	if err != nil {
		_, _ = p.stop()
		return s, err
	}
	s.outcome = play(p.client, plan)
	end, err := p.self()
	if err == nil {
		s.memory, err = p.memory()
	}
	if err != nil {
		_, _ = p.stop()
		return s, err
	}
	s.goroutines = idle.Goroutines
	s.allocs = float64(end.Mallocs-idle.Mallocs) / float64(s.requests)
	s.bytes = float64(end.Bytes-idle.Bytes) / float64(s.requests)
	if s.cpu, err = p.stop(); err != nil {
		return s, err
	}
	s.log, err = readLog(p.log.Name())
	return s, err
}

// drive runs the program without HTTP for n operations.
func drive(program string, n int) (s sample, err error) {
	cmd := exec.Command(program, "-n", strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return s, err
	}
	var per struct{ CPU, Wall, Allocs, Bytes, Idle float64 }
	if err := json.Unmarshal(out, &per); err != nil {
		return s, err
	}
	s.cpu, s.wall = time.Duration(per.CPU), time.Duration(per.Wall)
	s.allocs, s.bytes, s.idle = per.Allocs, per.Bytes, time.Duration(per.Idle)
	return s, nil
}
