package lincheck

import (
	"fmt"
	"math"
	"slices"

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
	doubted   bool  // a DelFunc may pick its result: who comes later begins another load
}

// gone returns the state after the entry has been removed.
func (s state) gone() state {
	s.known, s.present, s.value, s.cap, s.idle, s.stale = true, false, 0, span{}, span{}, 0
	return s
}

// expired returns the state after the deadline has passed.
func (r rules) expired(s state) state {
	value := s.value
	s = s.gone()
	if r.StandsIn {
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

// A rules is the sequential specification of a cache with promises.
type rules Promises

// model returns the specification of one key in the form of porcupine.
func (r rules) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{state{}} },
		Step: func(s, input, _ any) (next []any) {
			op := input.(Op)
			for _, s := range r.found(s.(state), op) {
				if s, ok := r.step(s, op); ok {
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

// found returns the states that an operation may find. The cache may have dropped the
// entry before: it must have if the deadline passed before the call, and cannot have, for
// its deadline, if that had not passed at the return.
func (r rules) found(s state, op Op) []state {
	if !s.present {
		if s.stale != 0 && r.Evicts {
			return []state{s, s.gone()}
		}
		return []state{s}
	}
	earliest, latest := min(s.cap.from, s.idle.from), min(s.cap.to, s.idle.to)
	var worlds []state
	if op.Call < latest {
		worlds = append(worlds, s)
	}
	if r.Evicts {
		worlds = append(worlds, s.gone())
	}
	if op.Return >= earliest {
		worlds = append(worlds, r.expired(s))
	}
	return worlds
}

// step returns the state of a key after an operation, which happens at one moment. It
// returns false if the operation cannot have answered as it did.
func (r rules) step(s state, op Op) (state, bool) {
	if !s.known { // a history begins with one of these for each key
		s = s.gone()
		if op.Kind == Del {
			return s, true
		}
		return r.write(s, op)
	}
	switch op.Kind {
	case Get, Peek:
		return r.read(s, op)
	case Touch:
		return r.touch(s, op)
	case GetOrSet:
		if op.Found {
			return r.maybeSlid(s, op), s.has(op.Got)
		}
		return r.stored(s, op, op.Value, r.ttl()), !s.present && op.Got == op.Value
	case Compute:
		return r.compute(s, op)
	case TakeBegins, TakeEnds, Take:
		return r.take(s, op)
	case Filter:
		return s.filtered(op), true
	case Del:
		return s.changed(), op.Found == s.present
	default:
		return r.write(s, op)
	}
}

// has reports whether the key has this value.
func (s state) has(value int64) bool { return s.present && s.value == value }

// write is step for an operation that does not depend on the value of the key.
func (r rules) write(s state, op Op) (state, bool) {
	switch op.Kind {
	case Set:
		return r.stored(s, op, op.Value, r.ttl()), true
	case SetWithExpire:
		if op.TTL < 0 { // a Del
			return s.changed(), true
		}
		return r.stored(s, op, op.Value, int64(op.TTL)), true
	case Clear:
		return s.changed(), true
	case DelFunc:
		if s.present && op.picks(s.value) || s.stale != 0 && op.picks(s.stale) {
			s = s.changed()
		}
		return s, true
	}
	return s, false
}

// filtered returns the state in which no load under way stores a value that a DelFunc picks, and
// none is joined.
func (s state) filtered(op Op) state {
	for i, f := range s.loads {
		if f.number != 0 {
			s.loads[i].filtered, s.loads[i].doubted = f.filtered || op.picks(f.result), true
		}
	}
	return s
}

func (r rules) read(s state, op Op) (state, bool) {
	if !op.Found {
		return s, !s.present
	}
	if op.Kind == Get && r.Idle > 0 {
		from := max(s.idle.from, op.Call+int64(r.Idle))
		s = r.maybeSlid(s, op)
		s.idle.from = from
	}
	return s, s.has(op.Got)
}

// maybeSlid returns the state after a hit that may or may not have moved the end of
// idleness: a Get does, a later look under the lock does not.
func (r rules) maybeSlid(s state, op Op) state {
	if r.Idle > 0 {
		s.idle.to = max(s.idle.to, op.Return+int64(r.Idle))
	}
	return s
}

func (r rules) touch(s state, op Op) (state, bool) {
	if op.Found != s.present {
		return s, false
	}
	switch {
	case op.TTL < 0: // a Del
		return s.changed(), true
	case s.present:
		return r.living(s, op, int64(op.TTL)), true
	}
	return s, true
}

func (r rules) compute(s state, op Op) (state, bool) {
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
		return s.changed(), r.Evicts
	}
	return r.stored(s, op, op.Value, r.ttl()), op.Got == op.Value
}

// take is step for a Take that found a value or joined a load, or for half of one that
// fetched.
func (r rules) take(s state, op Op) (state, bool) {
	switch op.Kind {
	case TakeBegins:
		ok := (!s.present || op.Beside) && !s.loading() || op.Anew
		for i, f := range s.loads {
			s.loads[i].overtaken = f.overtaken || f.doubted || op.Anew && f.number != 0
		}
		s.loads[op.slot()] = flight{number: op.Load, result: op.Value}
		return s, ok
	case TakeEnds:
		return r.takeEnds(s, op)
	}
	if s.present {
		return r.maybeSlid(s, op), s.value == op.Got
	}
	return s, s.stale != 0 && s.stale == op.Got || s.joined(op.Got)
}

// loading reports whether a load is under way, so that no other may begin. One that was
// overtaken, or is doubted, keeps none from beginning.
func (s state) loading() bool {
	return slices.ContainsFunc(s.loads[:], func(f flight) bool { return f.number != 0 && !f.overtaken && !f.doubted })
}

// joined reports whether a Take can have got this result of another Take's load.
func (s state) joined(got int64) bool {
	return slices.ContainsFunc(s.loads[:], func(f flight) bool { return f.number != 0 && f.result == got && !f.overtaken && !f.doubted })
}

// takeEnds is step for the end of a load, which stores its result unless the key has changed.
func (r rules) takeEnds(s state, op Op) (state, bool) {
	f := s.loads[op.slot()]
	s.loads[op.slot()] = flight{}
	if !f.overtaken && op.Absent {
		s = s.changed()
	}
	if !f.overtaken && op.Value > 0 && !f.filtered {
		s = r.stored(s, op, op.Value, r.ttl())
	}
	return s, f.number == op.Load && op.Got == op.Value
}

func (r rules) ttl() int64 { return int64(r.Expire) }

// stored returns the state after op has stored a value.
func (r rules) stored(s state, op Op, value, ttl int64) state {
	s = s.changed()
	s.present, s.value = true, value
	return r.living(s, op, ttl)
}

// living returns the state with deadlines for a TTL that began during op.
func (r rules) living(s state, op Op, ttl int64) state {
	s.cap, s.idle = atNoTime, atNoTime
	if ttl > 0 {
		s.cap = span{op.Call + ttl, op.Return + ttl + int64(r.Grace)}
	}
	if r.Idle > 0 {
		s.idle = span{op.Call + int64(r.Idle), op.Return + int64(r.Idle)}
	}
	return s
}
