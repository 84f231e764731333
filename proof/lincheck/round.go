package lincheck

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A round is the state that clients share during a history.
type round struct {
	Workload
	subject *Subject
	idle    time.Duration
	expires time.Duration
	keys    []int
	base    int64 // values begin here, so that no two histories share one
	began   time.Time
	clients int64

	arrived atomic.Int64 // arrivals at meetings
	watched atomic.Int64 // writes that others watched and that have ended
	due     atomic.Int64 // when the entry of expire expires
	aside   aside
}

// now returns the time in the history. Clients share this clock and nothing else: that would
// order them, and hide from the race detector that the cache does not.
func (r *round) now() int64 { return int64(time.Since(r.began)) }

// keySets is the number of sets of keys from which a history chooses one. The keys of the
// others may stay in the cache.
const keySets = 4

func newRound(s *Subject, p Promises, w Workload, r *rand.Rand, number int64) *round {
	round := &round{Workload: w, subject: s, idle: p.Idle, expires: p.Expire, base: (number + 1) << 26, began: time.Now()}
	set := r.IntN(keySets)
	for k := range w.Keys {
		round.keys = append(round.keys, k*keySets+set)
	}
	round.aside.round = round
	return round
}

// maxClients is the greatest number of clients in a history.
const maxClients = 6

// record records a history of 3 to 6 clients with 20 to 60 operations, after those that put
// the keys into a known state.
func (r *round) record(random *rand.Rand) []Op {
	clients := make([]*client, 3+random.IntN(maxClients-2))
	for i := range clients {
		clients[i] = &client{round: r, id: i, rand: rand.New(rand.NewPCG(random.Uint64(), 0))}
	}
	r.clients = int64(len(clients))
	plan := phases(r.subject, r.Workload, random, len(clients))
	each := (20 + random.IntN(40)) / len(clients)
	r.settle()
	clients[0].begin()
	r.settle()
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			c.meet()
			c.run(plan, each)
		})
	}
	wg.Wait()
	var history []Op
	for _, c := range clients {
		history = append(history, c.ops...)
	}
	if r.subject.Detached {
		r.settle()
		history = append(history, r.aside.ended(history)...)
	}
	return history
}

// settle waits until all earlier writes have taken effect.
func (r *round) settle() {
	if r.subject.Settle != nil {
		r.subject.Settle()
	}
}

// begin puts the keys into a known state.
func (c *client) begin() {
	if c.subject.Clear != nil && c.rand.IntN(4) == 0 {
		c.do(Op{Kind: Clear, Client: c.id})
		return
	}
	for _, key := range c.keys {
		kind := Set
		if c.subject.Has(Del) && c.rand.IntN(2) == 0 {
			kind = Del
		}
		c.do(Op{Kind: kind, Client: c.id, Key: key})
	}
}
