package main

import (
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/switch/traffic"
)

// A judge records what the service has acknowledged, and finds the answers that are wrong
// whatever was under way at the same time.
type judge struct {
	items    []itemRecord
	sessions []sessionRecord
}

func newJudge(plan traffic.Plan) *judge {
	j := &judge{make([]itemRecord, plan.Items), make([]sessionRecord, len(plan.TTLs))}
	for i, ttl := range plan.TTLs {
		j.sessions[i].ttl = ttl
	}
	return j
}

// An itemRecord has the versions of an item that were acknowledged.
type itemRecord struct {
	mu   sync.Mutex
	acks []ack // in the order of the versions
}

type ack struct {
	version int
	at      time.Time
}

// acknowledge notes that a write was answered with a version.
func (r *itemRecord) acknowledge(version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.acks); n == 0 || r.acks[n-1].version < version {
		r.acks = append(r.acks, ack{version, time.Now()})
	}
}

// stale returns for how long a version had been overwritten, as far as is known, when the
// read that returned it began. It is negative if the version was current.
func (r *itemRecord) stale(version int, began time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.acks) - 1; i >= 0 && r.acks[i].version > version; i-- {
		if i == 0 || r.acks[i-1].version <= version {
			return began.Sub(r.acks[i].at)
		}
	}
	return -1
}

// jitter: both libraries vary a TTL by up to 1/jitter of it, which is 5 %.
const jitter = 20

// A sessionRecord has what is known of a session.
type sessionRecord struct {
	mu         sync.Mutex
	ttl        time.Duration
	begun      int       // heartbeats that were sent
	under      int       // of these, without an answer yet
	start, ack time.Time // when the last one that was answered was sent, and answered
	early      bool      // it ended before its time
	late       bool      // it was still there after its time
}

// beat sends a heartbeat.
func (r *sessionRecord) beat(send func(ttl time.Duration) error) error {
	r.mu.Lock()
	r.begun++
	r.under++
	ttl := r.ttl
	r.mu.Unlock()
	start := time.Now()
	err := send(ttl)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.under--
	r.ack = time.Now()
	if err == nil && start.After(r.start) {
		r.start = start
	}
	return err
}

// look reads the session, and returns whether it ended early, or is still there late. late is
// false when a heartbeat at the same time may have extended it.
func (r *sessionRecord) look(read func() (found bool, err error)) (early, late bool, err error) {
	r.mu.Lock()
	begun, under, start, ack := r.begun, r.under, r.start, r.ack
	r.mu.Unlock()
	began := time.Now()
	found, err := read()
	if err != nil || start.IsZero() {
		return false, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	quiet := under == 0 && r.begun == begun
	early = !found && time.Since(start) < r.ttl-r.ttl/jitter
	late = found && quiet && began.Sub(ack) > r.ttl+r.ttl/jitter
	r.early = r.early || early
	r.late = r.late || late
	return early, late, nil
}
