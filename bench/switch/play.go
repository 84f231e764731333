package main

import (
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/switch/traffic"
)

// An outcome counts how a service answered the requests of a plan.
type outcome struct {
	requests, failed int
	firstError       error

	reads, stale int
	oldest       time.Duration // the longest time since a stale version was overwritten

	looks, early, late int

	latencies []time.Duration // from when a request was due, sorted
	judge     *judge
}

// A player sends the requests of a plan at their times, whether or not earlier ones
// have been answered.
type player struct {
	*client
	ttl time.Duration // of the cache of sessions
	mu  sync.Mutex
	outcome
}

func newPlayer(c *client, plan traffic.Plan) *player {
	p := &player{client: c, ttl: plan.TTL}
	p.judge = newJudge(plan)
	p.latencies = make([]time.Duration, 0, len(plan.Ops))
	return p
}

// play sends a plan to a service and returns how it answered.
func play(c *client, plan traffic.Plan) outcome {
	p := newPlayer(c, plan)
	begin := time.Now()
	var sent sync.WaitGroup
	for _, op := range plan.Ops {
		due := begin.Add(op.At)
		time.Sleep(time.Until(due))
		sent.Go(func() { p.do(op, due) })
	}
	sent.Wait()
	slices.Sort(p.latencies)
	return p.outcome
}

// do sends a request and notes the answer.
func (p *player) do(op traffic.Op, due time.Time) {
	var seen outcome
	var err error
	switch op.Kind {
	case traffic.Read:
		err = p.read(op.ID, &seen)
	case traffic.Write, traffic.Remove:
		var version int
		if version, err = p.item(op.Kind, op.ID); err == nil {
			p.judge.items[op.ID].acknowledge(version)
		}
	case traffic.Beat:
		err = p.judge.sessions[op.ID].beat(func(ttl time.Duration) error {
			if ttl == p.ttl {
				ttl = 0
			}
			return p.beat(op.ID, ttl)
		})
	case traffic.Look:
		err = p.lookAt(op.ID, &seen)
	}
	p.note(seen, time.Since(due), err)
}

func (p *player) read(id int, seen *outcome) error {
	began := time.Now()
	version, err := p.item(traffic.Read, id)
	if err != nil {
		return err
	}
	seen.reads = 1
	if age := p.judge.items[id].stale(version, began); age > 0 {
		seen.stale, seen.oldest = 1, age
	}
	return nil
}

func (p *player) lookAt(id int, seen *outcome) error {
	early, late, err := p.judge.sessions[id].look(func() (bool, error) { return p.look(id) })
	if err != nil {
		return err
	}
	seen.looks = 1
	if early {
		seen.early = 1
	}
	if late {
		seen.late = 1
	}
	return nil
}

// note adds a request to the outcome.
func (p *player) note(seen outcome, took time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if err != nil {
		p.failed++
		if p.firstError == nil {
			p.firstError = err
		}
	}
	p.reads += seen.reads
	p.stale += seen.stale
	p.oldest = max(p.oldest, seen.oldest)
	p.looks += seen.looks
	p.early += seen.early
	p.late += seen.late
	p.latencies = append(p.latencies, took)
}

// percentile returns the latency that the given fraction did not exceed.
func (o *outcome) percentile(fraction float64) time.Duration {
	if len(o.latencies) == 0 {
		return 0
	}
	return o.latencies[int(fraction*float64(len(o.latencies)-1))]
}
