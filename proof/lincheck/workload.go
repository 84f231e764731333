package lincheck

import (
	"math/rand/v2"
	"time"
)

// A Workload says what the clients of a cache do.
type Workload struct {
	Keys int             // in a history; few keys give more conflicts
	TTLs []time.Duration // for SetWithExpire and Touch; the default is 0 and -1
	Nap  time.Duration   // the longest sleep between two operations, for TTLs to pass; 0 for none
}

// A mix is the proportion of each Kind; bursts are many reads in a row.
type mix struct {
	bursts int
	of     [kinds]int
}

// The mixes of a phase.
var (
	reads  = mix{3, [kinds]int{Get: 5, Peek: 2}}
	writes = mix{0, [kinds]int{Set: 6, SetWithExpire: 2, Del: 3, Touch: 1, GetOrSet: 1, Compute: 2}}
	loads  = mix{0, [kinds]int{Get: 2, Set: 1, Del: 2, Take: 8, TakeMany: 4, Refresh: 2, Compute: 1, Clear: 1, DelFunc: 2}}
	every  = mix{1, [kinds]int{Get: 3, Peek: 2, Set: 3, SetWithExpire: 2, Del: 2, Touch: 2, GetOrSet: 3, Take: 3, TakeMany: 2, Refresh: 1, Compute: 4, Clear: 1, DelFunc: 1}}

	// For phases in which clients meet.
	tight      = mix{0, [kinds]int{Get: 1, Set: 1, Del: 2, Touch: 1, GetOrSet: 4, Take: 1, Compute: 1}}
	atDeadline = mix{0, [kinds]int{Get: 4, Peek: 1, Touch: 4, GetOrSet: 1, Compute: 1}}

	mixes = []mix{reads, writes, loads, every, every}
)

// Has reports whether the subject has an operation.
func (s *Subject) Has(k Kind) bool {
	return [kinds]bool{
		Get: true, Set: true, Del: s.Del != nil,
		Peek: s.Peek != nil, SetWithExpire: s.SetWithExpire != nil, GetOrSet: s.GetOrSet != nil,
		Touch: s.Touch != nil,
		Take:  s.Take != nil, Compute: s.Compute != nil, Clear: s.Clear != nil, DelFunc: s.DelFunc != nil,
		TakeMany: s.TakeMany != nil, Refresh: s.Refresh != nil,
	}[k]
}

// without returns the mix without the operations that the subject does not have.
func (m mix) without(s *Subject) mix {
	for k := range m.of {
		if !s.Has(Kind(k)) {
			m.of[k] = 0
		}
	}
	return m
}

// pick returns one of the kinds of the mix, or true for a burst.
func (m mix) pick(r *rand.Rand) (Kind, bool) {
	total := m.bursts
	for _, n := range m.of {
		total += n
	}
	n := r.IntN(total)
	for k, share := range m.of {
		if n -= share; n < 0 {
			return Kind(k), false
		}
	}
	return 0, true
}

// A phase is a part of a history. Different phases make a lock that adapts to its readers
// and writers change over.
type phase struct {
	way   func(c *client, m mix, n int)
	mixes []mix // one for each client, or one for all
}

// phases returns the phases of a history.
func phases(s *Subject, w Workload, r *rand.Rand, clients int) []phase {
	plan := make([]phase, 1+r.IntN(3))
	for i := range plan {
		p := &plan[i]
		p.way, p.mixes = (*client).apart, []mix{mixes[r.IntN(len(mixes))]}
		switch n := r.IntN(8); {
		case n < 4 && len(w.TTLs) > 0:
			p.way = (*client).expire
		case n < 2:
			p.way, p.mixes = (*client).watch, []mix{writes}
		case n < 5:
			p.way, p.mixes = (*client).together, []mix{tight}
		case n < 7:
			for range clients - 1 {
				p.mixes = append(p.mixes, mixes[r.IntN(len(mixes))])
			}
		}
		for j, m := range p.mixes {
			p.mixes[j] = m.without(s)
		}
	}
	return plan
}
