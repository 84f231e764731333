package lincheck

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

const never = math.MaxInt64

// A span is the time of an event during an operation, known only to lie between two moments.
type span struct{ from, to int64 }

var atNoTime = span{never, never}

// A state is what the model knows of one key.
type state struct {
	known   bool // false only before the first operation
	present bool
	value   int64
	cap     span  // the deadline by TTL
	idle    span  // the end of idleness
	stale   int64 // the value that may stand in, or 0

	loads [maxLoads]flight
}

// maxLoads is how many loads of a key may be under way in the model.
const maxLoads = 12

// A flight is a load under way.
type flight struct {
	number    int64 // 0 means none
	result    int64 // what its fetch will return
	overtaken bool  // the key has changed since it began: its result must not be stored
	filtered  bool  // a DelFunc picked its result, which must not be stored either
}

// gone returns the state after the entry has been removed.
func (s state) gone() state {
	s.known, s.present, s.value, s.cap, s.idle, s.stale = true, false, 0, span{}, span{}, 0
	return s
}

// expired returns the state after the deadline has passed.
func (p Promises) expired(s state) state {
	value := s.value
	s = s.gone()
	if p.StandsIn {
		s.stale = value
	}
	return s
}

// changed returns the state after a change that removes the entry and that no load may undo.
func (s state) changed() state {
	s = s.gone()
	for i := range s.loads {
		s.loads[i].overtaken = s.loads[i].number != 0
	}
	return s
}

// outdated returns the state after the value has expired by a call. No load that began before
// may be stored: it may have read what was there before.
func (p Promises) outdated(s state) state {
	value := s.stale
	if s.present && p.StandsIn {
		value = s.value
	}
	s = s.changed()
	s.stale = value
	return s
}

// model returns the sequential specification of one key in the form of porcupine.
func (p Promises) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{state{}} },
		Step: func(s, input, _ any) (next []any) {
			op := input.(Op)
			for _, s := range p.worlds(s.(state), op) {
				if s, ok := p.step(s, op); ok {
					next = append(next, s)
				}
			}
			return next
		},
		DescribeOperation: func(input, _ any) string { return input.(Op).String() },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
	return m.ToModel()
}

func (s state) String() string {
	text := "nothing"
	if !s.known {
		text = "unknown"
	} else if s.present {
		text = fmt.Sprint(s.value)
	} else if s.stale != 0 {
		text = fmt.Sprint(s.stale, " in grace")
	}
	for _, f := range s.loads {
		if f.number != 0 {
			text += fmt.Sprintf(", fetch %d", f.number)
		}
		if f.overtaken {
			text += " (not to be stored)"
		}
	}
	return text
}

// worlds returns the states that an operation may find, with the entry and without. The cache
// may have dropped the entry before: it must have if the deadline passed before the call, and
// cannot have, for its deadline, if that had not passed at the return.
func (p Promises) worlds(s state, op Op) []state {
	if !s.present {
		if s.stale != 0 && p.Evicts {
			return []state{s, s.gone()}
		}
		return []state{s}
	}
	earliest, latest := min(s.cap.from, s.idle.from), min(s.cap.to, s.idle.to)
	var worlds []state
	if op.Call < latest {
		worlds = append(worlds, s)
	}
	if p.Evicts {
		worlds = append(worlds, s.gone())
	}
	if op.Return >= earliest {
		worlds = append(worlds, p.expired(s))
	}
	return worlds
}

// step returns the state of a key after an operation, which happens at one moment. It
// returns false if the operation cannot have answered as it did.
func (p Promises) step(s state, op Op) (state, bool) {
	if !s.known { // a history begins with one of these for each key
		s = s.gone()
		if op.Kind == Del {
			return s, true
		}
		return p.write(s, op)
	}
	switch op.Kind {
	case Get, Peek:
		return p.read(s, op)
	case Touch:
		return p.touch(s, op)
	case GetOrSet:
		if op.Found {
			return p.maybeSlid(s, op), s.has(op.Got)
		}
		return p.stored(s, op, op.Value, p.ttl()), !s.present && op.Got == op.Value
	case Compute:
		return p.compute(s, op)
	case TakeBegins, TakeEnds, Take:
		return p.take(s, op)
	case Filter:
		return s.filtered(op), true
	case Expire:
		return p.outdated(s), op.Found == s.present
	case Del:
		return s.changed(), op.Found == s.present
	default:
		return p.write(s, op)
	}
}

// has reports whether the key has this value.
func (s state) has(value int64) bool { return s.present && s.value == value }

// write is step for an operation that does not depend on the value of the key.
func (p Promises) write(s state, op Op) (state, bool) {
	switch op.Kind {
	case Set:
		return p.stored(s, op, op.Value, p.ttl()), true
	case SetWithExpire:
		if op.TTL < 0 { // a Del
			return s.changed(), true
		}
		return p.stored(s, op, op.Value, int64(op.TTL)), true
	case Clear:
		return s.changed(), true
	case ExpireAll:
		return p.outdated(s), true
	case DelFunc:
		if s.present && op.picks(s.value) || s.stale != 0 && op.picks(s.stale) {
			s = s.changed()
		}
		return s, true
	}
	return s, false
}

// filtered returns the state in which no load under way stores a value that a DelFunc picks.
func (s state) filtered(op Op) state {
	for i, f := range s.loads {
		s.loads[i].filtered = f.filtered || f.number != 0 && op.picks(f.result)
	}
	return s
}

func (p Promises) read(s state, op Op) (state, bool) {
	if !op.Found {
		return s, !s.present
	}
	if op.Kind == Get && p.Idle > 0 {
		from := max(s.idle.from, op.Call+int64(p.Idle))
		s = p.maybeSlid(s, op)
		s.idle.from = from
	}
	return s, s.has(op.Got)
}

// maybeSlid returns the state after a hit that may or may not have moved the end of
// idleness: a Get does, a later look under the lock does not.
func (p Promises) maybeSlid(s state, op Op) state {
	if p.Idle > 0 {
		s.idle.to = max(s.idle.to, op.Return+int64(p.Idle))
	}
	return s
}

func (p Promises) touch(s state, op Op) (state, bool) {
	if op.Found != s.present {
		return s, false
	}
	switch {
	case op.TTL < 0: // a Del
		return s.changed(), true
	case s.present:
		return p.living(s, op, int64(op.TTL)), true
	}
	return s, true
}

func (p Promises) compute(s state, op Op) (state, bool) {
	if s.present != op.HadOld || s.present && s.value != op.Old {
		return s, false // the value that it was computed from was not there
	}
	switch op.Does {
	case Keep:
		return s, op.Found == op.HadOld && (!op.Found || op.Got == op.Old)
	case Delete:
		return s.changed(), !op.Found
	}
	if !op.Found { // evicted at once, as too heavy
		return s.changed(), p.Evicts
	}
	return p.stored(s, op, op.Value, p.ttl()), op.Got == op.Value
}

// take is step for a Take that found a value or joined a load, or for half of one that
// fetched.
func (p Promises) take(s state, op Op) (state, bool) {
	switch op.Kind {
	case TakeBegins:
		ok := (!s.present || op.Beside) && p.mayLoad(s)
		s.loads[op.slot()] = flight{number: op.Load, result: op.Value}
		return s, ok
	case TakeEnds:
		return p.takeEnds(s, op)
	}
	if s.present {
		return p.maybeSlid(s, op), s.value == op.Got
	}
	return s, s.stale != 0 && s.stale == op.Got || s.joined(op.Got)
}

// mayLoad reports whether a load may begin.
func (p Promises) mayLoad(s state) bool {
	for _, f := range s.loads {
		waitedFor := !f.overtaken || !p.Beside
		if f.number != 0 && waitedFor {
			return false
		}
	}
	return true
}

// joined reports whether a Take can have got this result of another Take's load.
func (s state) joined(got int64) bool {
	for _, f := range s.loads {
		if f.number != 0 && f.result == got && !f.overtaken {
			return true
		}
	}
	return false
}

// takeEnds is step for the end of a load, which stores its result unless the key has changed.
func (p Promises) takeEnds(s state, op Op) (state, bool) {
	f := s.loads[op.slot()]
	s.loads[op.slot()] = flight{}
	if !f.overtaken && op.Absent {
		s = s.changed()
	}
	if !f.overtaken && op.Value > 0 && !f.filtered {
		s = p.stored(s, op, op.Value, p.ttl())
	}
	return s, f.number == op.Load && op.Got == op.Value
}

func (p Promises) ttl() int64 { return int64(p.Expire) }

// stored returns the state after op has stored a value.
func (p Promises) stored(s state, op Op, value, ttl int64) state {
	s = s.changed()
	s.present, s.value = true, value
	return p.living(s, op, ttl)
}

// living returns the state with deadlines for a TTL that began during op.
func (p Promises) living(s state, op Op, ttl int64) state {
	s.cap, s.idle = atNoTime, atNoTime
	if ttl > 0 {
		s.cap = span{op.Call + ttl, op.Return + ttl}
	}
	if p.Idle > 0 {
		s.idle = span{op.Call + int64(p.Idle), op.Return + int64(p.Idle)}
	}
	return s
}
