package lincheck

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

const never = math.MaxInt64

// A span is a time that is known only to lie between two moments: that of something
// that happened during an operation.
type span struct{ from, to int64 }

var atNoTime = span{never, never}

// A state is what the model knows of one key.
type state struct {
	known   bool // only at the very beginning it is not
	present bool
	value   int64
	cap     span // the deadline by TTL
	idle    span // the end of idleness

	load   int64 // the number of the load under way, or 0
	broken bool  // the key was changed since it began: its result is not to be stored
	result int64 // what its fetch is going to return
}

// gone returns the state after the entry has been removed, by whatever.
func (s state) gone() state {
	s.known, s.present, s.value, s.cap, s.idle = true, false, 0, span{}, span{}
	return s
}

// changed is gone for a removal that no load may undo.
func (s state) changed() state {
	s = s.gone()
	s.broken = s.load != 0
	return s
}

// A rules is the sequential specification of a cache with these promises.
type rules struct{ Promises }

// model returns the specification of one key in the form of porcupine.
func (r rules) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{state{}} },
		Step: func(s, input, _ any) (next []any) {
			op := input.(Op)
			for _, s := range r.worlds(s.(state), op) {
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
	}
	if s.load != 0 {
		text += fmt.Sprintf(", fetch %d", s.load)
	}
	if s.broken {
		text += " (not to be stored)"
	}
	return text
}

// worlds returns the states that an operation may find, for the cache may have
// dropped the entry before. It must have if its deadline passed before the call, and
// cannot have on account of a deadline that had not passed at the return.
func (r rules) worlds(s state, op Op) []state {
	if !s.present {
		return []state{s}
	}
	earliest, latest := min(s.cap.from, s.idle.from), min(s.cap.to, s.idle.to)
	var worlds []state
	if op.Call < latest {
		worlds = append(worlds, s)
	}
	if r.Evicts || op.Return >= earliest {
		worlds = append(worlds, s.gone())
	}
	return worlds
}

// step is what an operation does to a key in one moment. It returns false if the
// operation cannot have answered as it did.
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
	case Board, Land, Take:
		return r.take(s, op)
	case Del:
		return s.changed(), op.Found == s.present
	default:
		return r.write(s, op)
	}
}

// has reports whether the key has a value, which must be this one.
func (s state) has(value int64) bool { return s.present && s.value == value }

// write is an operation that does not depend on what the key had.
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
	}
	return s, false
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

// maybeSlid is the state after a hit that may have been a Get and put off the end of
// idleness, but may have been found later, under the lock, which does not.
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
		return s, false // what it was computed from was not there
	}
	switch op.Does {
	case Keep:
		return s, op.Found == op.HadOld && (!op.Found || op.Got == op.Old)
	case Delete:
		return s.changed(), !op.Found
	}
	if !op.Found { // driven out at once, as too heavy
		return s.changed(), r.Evicts
	}
	return r.stored(s, op, op.Value, r.ttl()), op.Got == op.Value
}

// take is a Take that found a value or joined a load, or half of one that fetched.
func (r rules) take(s state, op Op) (state, bool) {
	switch op.Kind {
	case Board:
		ok := !s.present && s.load == 0
		s.load, s.result, s.broken = op.Load, op.Value, false
		return s, ok
	case Land:
		ok := s.load == op.Load && op.Got == op.Value
		keep := !s.broken && op.Value > 0
		s.load, s.result, s.broken = 0, 0, false
		if keep {
			s = r.stored(s, op, op.Value, r.ttl())
		}
		return s, ok
	}
	if s.present {
		return r.maybeSlid(s, op), s.value == op.Got
	}
	return s, s.load != 0 && !s.broken && s.result == op.Got
}

func (r rules) ttl() int64 { return int64(r.Expire) }

// stored is the state after op has stored a value.
func (r rules) stored(s state, op Op, value, ttl int64) state {
	s = s.changed()
	s.present, s.value = true, value
	return r.living(s, op, ttl)
}

// living gives the entry a life that began during op.
func (r rules) living(s state, op Op, ttl int64) state {
	s.cap, s.idle = atNoTime, atNoTime
	if ttl > 0 {
		s.cap = span{op.Call + ttl, op.Return + ttl}
	}
	if r.Idle > 0 {
		s.idle = span{op.Call + int64(r.Idle), op.Return + int64(r.Idle)}
	}
	return s
}
