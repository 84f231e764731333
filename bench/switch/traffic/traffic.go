// Package traffic plans which requests the services get, and when.
package traffic

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// A Kind is what a request does.
type Kind uint8

const (
	Read   Kind = iota // GET of an item
	Write              // PUT of an item
	Remove             // DELETE of an item
	Beat               // heartbeat of a session
	Look               // GET of a session
)

// An Op is a request: when (from the start of the plan), what, and the number of the item
// or session.
type Op struct {
	At   time.Duration
	Kind Kind
	ID   int
}

// A Plan is the requests in the order of their times.
type Plan struct {
	Ops   []Op
	Items int
	TTLs  []time.Duration // of the sessions

	// TTL is that of the cache of sessions. Sessions with this TTL are stored by Set, others
	// by SetWithExpire.
	TTL time.Duration
}

const (
	usualTTL = 2 * time.Second

	items    = 3000
	sessions = 600
)

// ttls are the TTLs of the sessions in a load, in equal parts.
var ttls = []time.Duration{time.Second / 2, time.Second, 3 * time.Second / 2, usualTTL, 3 * time.Second}

// shares are the shares of the kinds in a load, in percent.
var shares = [...]int{Read: 65, Write: 5, Remove: 1, Beat: 15, Look: 14}

// Load returns requests at random times, perSecond on average, to random items, by a Zipf
// distribution, and sessions, all equally likely. The same seed gives the same plan.
func Load(seed uint64, perSecond float64, d time.Duration) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	n := int(perSecond * d.Seconds())
	plan := Plan{Ops: make([]Op, n), Items: items, TTLs: make([]time.Duration, sessions), TTL: usualTTL}
	for i := range plan.TTLs {
		plan.TTLs[i] = ttls[i%len(ttls)]
	}
	ids := load.Zipf(r, items, n)
	for i := range plan.Ops {
		op := Op{At: time.Duration(r.Int64N(int64(d))), Kind: kind(r), ID: int(ids[i])}
		if op.Kind >= Beat {
			op.ID = r.IntN(sessions)
		}
		plan.Ops[i] = op
	}
	plan.sort()
	return plan
}

// kind returns a kind by its share.
func kind(r *rand.Rand) Kind {
	at := r.IntN(100)
	for k, share := range shares {
		if at -= share; at < 0 {
			return Kind(k)
		}
	}
	panic("the shares are less than a hundred")
}

// KeepAlive returns a plan of sessions only, n of each TTL. Each session has a heartbeat
// every beat, which begins at a random time in the first one and a half beats and ends at a
// random time in the next three, and is read every look. The plan goes on until all
// sessions have ended.
func KeepAlive(seed uint64, n int, beat, look time.Duration, ttls []time.Duration) Plan {
	r := rand.New(rand.NewPCG(seed, 1))
	plan := Plan{TTL: slices.Max(ttls)}
	for _, ttl := range ttls {
		for range n {
			plan.TTLs = append(plan.TTLs, ttl)
		}
	}
	end := beat*9/2 + plan.TTL*21/20 + 2*look
	for id := range plan.TTLs {
		begin := time.Duration(r.Int64N(int64(beat * 3 / 2)))
		silent := beat*3/2 + time.Duration(r.Int64N(int64(beat*3)))
		for at := begin; at < silent; at += beat {
			plan.Ops = append(plan.Ops, Op{at, Beat, id})
		}
		for at := begin + time.Duration(r.Int64N(int64(look))); at < end; at += look {
			plan.Ops = append(plan.Ops, Op{at, Look, id})
		}
	}
	plan.sort()
	return plan
}

func (p *Plan) sort() {
	slices.SortFunc(p.Ops, func(a, b Op) int { return int(a.At - b.At) })
}
