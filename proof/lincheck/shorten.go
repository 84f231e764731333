package lincheck

import (
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// shorten returns a part of a wrong history of one key that is wrong in the same way. It
// tries only parts that are right whenever the whole is: no fault comes from the omission.
func shorten(p Promises, fault Faults, history []Op) []Op {
	history = sorted(history)
	wrong := func(h []Op) bool {
		part := operations(h)
		if verdict(p, part) != porcupine.Illegal {
			return false
		}
		faults := explain(p, part)
		return faults == fault || faults.has(fault)
	}
	for n := 2; n < len(history); n++ {
		if h, ok := prefix(history, history[n].Call, n); ok && wrong(h) {
			history = h
			break
		}
	}
	for n := len(history) - 2; n > 0; n-- {
		if h := history[n:]; beginsAnew(history, n) && selfContained(h) && wrong(h) {
			history = h
			break
		}
	}
	for n := len(history) - 1; n > 0 && p.Idle == 0; n-- {
		if h := slices.Delete(slices.Clone(history), n, n+1); history[n].onlyReads() && wrong(h) {
			history = h
		}
	}
	return renumbered(history)
}

// selfContained reports whether all values found were stored, which only helps the reader.
func selfContained(history []Op) bool {
	for _, op := range history {
		stored := func(by Op) bool { return by.Value == op.Got }
		if op.Got != 0 && !slices.ContainsFunc(history, stored) {
			return false
		}
	}
	return true
}

// onlyReads reports whether the operation can have no effect.
func (o Op) onlyReads() bool {
	switch o.Kind {
	case Get, Peek, Take:
		return true
	case GetOrSet:
		return o.Found
	case Compute:
		return o.Does == Keep
	}
	return false
}

// prefix returns the first n operations, as known at a moment when no others had begun.
// Those that had not ended may or may not have happened: only those stay that can come last
// in any case.
func prefix(history []Op, now int64, n int) (h []Op, ok bool) {
	for _, op := range history[:n] {
		if op.Return > now {
			switch {
			case op.onlyReads():
				continue
			case op.Kind == Del || op.Kind == Touch:
				op.Mute = true
			case op.Kind != Set && op.Kind != SetWithExpire && !op.ofAllKeys():
				return nil, false
			}
		}
		h = append(h, op)
	}
	return h, true
}

// beginsAnew reports whether operation n is a write that overlaps no other operation: the
// operations before it do not matter.
func beginsAnew(history []Op, n int) bool {
	first := history[n]
	if first.Kind != Set && first.Kind != Del && first.Kind != Clear || first.Return >= history[n+1].Call {
		return false
	}
	for _, op := range history[:n] {
		if op.Return >= first.Call {
			return false
		}
	}
	boards := 0
	for _, op := range history[:n] {
		switch op.Kind {
		case TakeBegins:
			boards++
		case TakeEnds:
			boards--
		}
	}
	return boards == 0
}

// renumbered returns the history with small numbers as values, whose last digits are the
// increments, and with times from 0.
func renumbered(history []Op) []Op {
	small := make(map[int64]int64)
	number := func(v *int64) {
		sign := int64(1)
		if *v < 0 {
			sign = -1
		}
		if *v == 0 || *v == math.MinInt64 {
			return
		}
		family := sign * *v >> 10
		if small[family] == 0 {
			small[family] = 100 * int64(len(small)+1)
		}
		*v = sign * (small[family] + sign**v&1023)
	}
	h := slices.Clone(history)
	began := h[0].Call
	for i := range h {
		h[i].Call -= began
		h[i].Return -= began
		for _, v := range []*int64{&h[i].Load, &h[i].Value, &h[i].Old, &h[i].Got} {
			number(v)
		}
	}
	return h
}
